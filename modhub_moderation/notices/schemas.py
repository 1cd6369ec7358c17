"""The JSON of notices."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from modhub.base.operations import about
from modhub.content.limits import KB
from modhub_moderation.cases.models import CASE_TEXT, REPORTER_NAME

MAX_NOTICE_BODY: Final = 64 * KB
"""Bytes of a notice as JSON."""
SentText = str | None | UnsetType


class NewAuthorNotice(Struct, rename="camel", kw_only=True):
    """``POST /api/modhub/authors/{accountId}/reports``"""

    ground: Annotated[
        Literal["malware", "illegal", "stolen", "deceptive", "broken", "other"],
        about("Why it is reported", "malware"),
    ]
    text: Annotated[
        str, about(f"What is wrong, in 1 to {CASE_TEXT:,} characters of plain text", "It sends the save files away.")
    ]
    good_faith: Annotated[bool, about("That the caller believes in good faith that this is true: `true`", True)]
    name: Annotated[
        SentText,
        about(
            f"Who reports, in at most {REPORTER_NAME} characters: needed without a token, ignored with one",
            "Ada Example",
        ),
    ] = UNSET
    email: Annotated[
        SentText,
        about("Where the answer goes: needed without a token, ignored with one", "ada@example.org"),
    ] = UNSET
    locale: Annotated[SentText, about("The language of our emails; without it that of `Accept-Language`", "de")] = UNSET


class NewNotice(NewAuthorNotice, kw_only=True):
    """``POST /api/modhub/{id}/reports``"""

    asset_id: Annotated[
        int | UnsetType | None, about("The number of an image of the mod, if the report is about that", 57)
    ] = UNSET


class ReceiptDocument(Struct):
    """The answer to a notice."""

    receipt: Annotated[
        str,
        about(
            "A secret; the page `/Modhub/notices/{receipt}` says whether it was decided, and no more",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ),
    ]
