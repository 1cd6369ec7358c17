"""What the API views declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Final

from modhub.base.operations import Operation, Refusal, body_over
from modhub_auth.request_schemas import MAX_ACCOUNT_BODY, Exchange, Forgot, Refresh, Registration, SignIn, SignOut
from modhub_auth.response_schemas import AccountDocument, KeySessionDocument, SecondFactorDocument, SessionDocument

TOO_MANY: Final = Refusal(
    429, "too_many_attempts", "Too many attempts of this caller or for this account; see [rates](#rates)."
)
BLOCKED: Final = Refusal(403, "account_blocked", "The operator has blocked the account.")
TOO_LARGE: Final = body_over(MAX_ACCOUNT_BODY)


REGISTER: Final = Operation(
    id="register",
    about="Create an account.",
    takes=Registration,
    returns=SessionDocument,
    status=201,
    refusals=(
        Refusal(400, "invalid_input", "No address, or a password that is too short or too long."),
        Refusal(
            400,
            "common_password",
            "The password is one of the first that attackers try; the operator says whether these are refused.",
        ),
        Refusal(403, "registration_closed", "Registration is closed."),
        Refusal(409, "address_taken", "The address has an account."),
        TOO_LARGE,
        TOO_MANY,
    ),
    clauses=("C-ACC-1", "C-ACC-2", "C-ACC-3", "C-ACC-4", "C-ACC-5", "C-ACC-6", "C-ACC-21", "C-LIM-8"),
)
LOGIN: Final = Operation(
    id="login",
    about="Sign in with address and password.",
    takes=SignIn,
    returns=SessionDocument,
    refusals=(
        Refusal(400, "invalid_input", "A field is missing or not a string."),
        Refusal(401, "invalid_credentials", "Unknown address or wrong password: one answer for both."),
        Refusal(
            401,
            "second_factor_required",
            "The password was right; the code is missing, wrong or already used.",
            SecondFactorDocument,
        ),
        Refusal(
            403,
            "account_blocked",
            "Password and code were right, but the operator has blocked the account. Its refresh "
            "tokens no longer work; an access token still reads the account, until it expires.",
        ),
        Refusal(
            403,
            "email_not_confirmed",
            "Password and code were right, but this service wants the address confirmed first.",
        ),
        TOO_LARGE,
        TOO_MANY,
        Refusal(503, "busy", "Too many are signing in at this moment; try again after `Retry-After`."),
    ),
    clauses=("C-ACC-1", "C-ACC-7", "C-ACC-8", "C-ACC-9", "C-ACC-10", "C-ACC-11", "C-ACC-12", "C-LIM-1", "C-LIM-3"),
)
EXCHANGE_PUBLISHER_KEY: Final = Operation(
    id="exchange_publisher_key",
    about="A session for a publisher key, which ends with its access token.",
    takes=Exchange,
    returns=KeySessionDocument,
    refusals=(
        Refusal(400, "invalid_input", "No `key`."),
        Refusal(401, "invalid_key", "Unknown, revoked or expired, or for a mod that was deleted."),
        BLOCKED,
        TOO_LARGE,
        TOO_MANY,
    ),
    clauses=("C-TOK-5", "C-TOK-6", "C-TOK-7"),
)
READ_ACCOUNT: Final = Operation(
    id="read_account",
    about="The account of the token.",
    returns=AccountDocument,
    blocked_too=True,
    clauses=("C-ACC-13", "C-ACC-20"),
)
REFRESH_SESSION: Final = Operation(
    id="refresh_session",
    about="New tokens for a refresh token, which is used up.",
    takes=Refresh,
    returns=SessionDocument,
    refusals=(
        Refusal(400, "invalid_input", "No `refreshToken`."),
        Refusal(401, "invalid_refresh_token", "Used, expired, signed out or unknown."),
        TOO_LARGE,
    ),
    clauses=("C-ACC-1", "C-ACC-14", "C-ACC-15", "C-TOK-1", "C-TOK-3"),
)
LOGOUT: Final = Operation(
    id="logout",
    about="End a session. Always succeeds.",
    takes=SignOut,
    takes_anything=True,
    status=204,
    clauses=("C-ACC-16",),
)
REQUEST_PASSWORD_RESET: Final = Operation(
    id="request_password_reset",
    about="Send an email with a link to a new password, if the account exists.",
    takes=Forgot,
    takes_anything=True,
    status=204,
    refusals=(TOO_MANY,),
    clauses=("C-ACC-16", "C-LIM-8", "C-LIM-9"),
)
