"""What the API views declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Final

from modhub.base.operations import Operation, Refusal
from modhub_auth.request_schemas import Exchange, Forgot, Refresh, Registration, SignIn, SignOut
from modhub_auth.response_schemas import AccountDocument, KeySessionDocument, SessionDocument

TOO_MANY: Final = Refusal(429, "too_many_attempts", "Too many attempts of this caller or for this account.")
BLOCKED: Final = Refusal(403, "account_blocked", "The operator has blocked the account.")


REGISTER: Final = Operation(
    id="register",
    about="Create an account.",
    takes=Registration,
    returns=SessionDocument,
    status=201,
    refusals=(
        Refusal(400, "common_password", "The password is one of those that are tried first."),
        Refusal(403, "registration_closed", "Registration is closed."),
        Refusal(409, "address_taken", "The address has an account."),
        TOO_MANY,
    ),
    clauses=("C-ACC-1",),
)
LOGIN: Final = Operation(
    id="login",
    about="Sign in with address and password.",
    takes=SignIn,
    returns=SessionDocument,
    refusals=(
        Refusal(401, "invalid_credentials", "Unknown address, or wrong password or code."),
        Refusal(401, "second_factor_required", "The account needs a code as well."),
        BLOCKED,
        Refusal(403, "email_not_confirmed", "The address has to be confirmed first."),
        TOO_MANY,
    ),
    clauses=("C-ACC-1",),
)
EXCHANGE_PUBLISHER_KEY: Final = Operation(
    id="exchange_publisher_key",
    about="A session for a publisher key, which ends with its access token.",
    takes=Exchange,
    returns=KeySessionDocument,
    refusals=(
        Refusal(401, "invalid_key", "The key is unknown, revoked or has expired."),
        BLOCKED,
        TOO_MANY,
    ),
    clauses=("C-TOK-5",),
)
READ_ACCOUNT: Final = Operation(
    id="read_account", about="The account of the token.", returns=AccountDocument, clauses=("C-ACC-13",)
)
REFRESH_SESSION: Final = Operation(
    id="refresh_session",
    about="New tokens for a refresh token, which is used up.",
    takes=Refresh,
    returns=SessionDocument,
    refusals=(Refusal(401, "invalid_refresh_token", "The token is unknown, used up or has expired."),),
    clauses=("C-TOK-1",),
)
LOGOUT: Final = Operation(
    id="logout", about="End a session. Always succeeds.", takes=SignOut, status=204, clauses=("C-MAIL-4",)
)
REQUEST_PASSWORD_RESET: Final = Operation(
    id="request_password_reset",
    about="Send an email with a link to a new password, if the account exists.",
    takes=Forgot,
    status=204,
    refusals=(TOO_MANY,),
    clauses=("C-MAIL-4",),
)
