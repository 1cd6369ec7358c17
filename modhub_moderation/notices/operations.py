"""What the API views of notices declare about themselves."""

from typing import Final

from modhub.base.operations import Operation, Refusal, body_over
from modhub_moderation.notices.schemas import MAX_NOTICE_BODY, NewAuthorNotice, NewNotice, ReceiptDocument

_BAD_BODY: Final = (
    "No statement of good faith, no ground, no text or one that is too long, no name or address without a token"
)
_OF_TOKENS: Final = (
    Refusal(401, "unauthorized", "A token was sent, and it is bad."),
    Refusal(403, "account_blocked", "The operator has blocked the account."),
)
_OF_LIMITS: Final = (
    body_over(MAX_NOTICE_BODY),
    Refusal(429, "too_many_attempts", "Too many reports of this caller or account; see [rates](#rates)."),
)
REPORT_MOD: Final = Operation(
    id="report_mod",
    about="Report a published mod, or one of its images, to the moderators.",
    takes=NewNotice,
    returns=ReceiptDocument,
    status=201,
    signed_in_too=True,
    refusals=(
        Refusal(400, "invalid_input", f"{_BAD_BODY}, or an image that the mod does not have."),
        *_OF_TOKENS,
        Refusal(404, "not_found", "No such mod, or it is a draft or hidden."),
        *_OF_LIMITS,
    ),
    clauses=("C-NTC-1", "C-NTC-2", "C-NTC-3", "C-NTC-4", "C-NTC-5"),
)
REPORT_AUTHOR: Final = Operation(
    id="report_author",
    about="Report an author, who has a page because of a published mod.",
    takes=NewAuthorNotice,
    returns=ReceiptDocument,
    status=201,
    signed_in_too=True,
    refusals=(
        Refusal(400, "invalid_input", f"{_BAD_BODY}, or an `assetId`."),
        *_OF_TOKENS,
        Refusal(404, "not_found", "There is no page of this author."),
        *_OF_LIMITS,
    ),
    clauses=("C-NTC-2", "C-NTC-3", "C-NTC-4", "C-NTC-5"),
)
