"""Part ``own``: signing in, sessions and tokens. A run fails to sign in three times at most: ten make the service wait.

Nothing is registered: what would make an account is only sent where it has to be refused.
"""

from base64 import urlsafe_b64decode
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

from modhub_client.verify.checks import own_check
from modhub_client.verify.owner import MARK, Owner, foreign_mod, owner_of
from modhub_client.verify.replies import Broken, Reply, Skipped, require, require_equal, require_same
from modhub_client.verify.run import UNKNOWN_ID, Run
from modhub_client.verify.shapes import FLAG, NUMBER, TEXT, described_answer, object_of, require_shape, text_like

account_check = partial(own_check, feature="modhub_auth")
_USER_CODE = text_like("[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}")
KEY_SESSION = object_of(accessToken=TEXT, expiresInSeconds=NUMBER, accountId=NUMBER)
SESSION = object_of(**KEY_SESSION["properties"], refreshToken=TEXT, displayName=TEXT)
ACCOUNT = object_of(
    accountId=NUMBER, kind=text_like("Password|Platform"), subject=TEXT, displayName=TEXT, verified=FLAG
)


def password_owner(run: Run) -> Owner:
    """The account; `Skipped` unless its password is known."""
    owner = owner_of(run)
    owner.require_password()
    return owner


def ask(run: Run, call: str, value: Any) -> Reply:
    """``POST /api/auth/{call}``; `Skipped` while the service takes no more attempts."""
    reply = run.service.call("POST", f"/api/auth/{call}", value, patient=False)
    if reply.status == 429:
        raise Skipped(f"{reply.call}: too many attempts")
    return reply


@account_check("C-ACC-1", "C-TOK-1", "C-TOK-3")
def _a_sign_in_answers_a_session(run: Run) -> None:
    """With all its fields, 1800 seconds, nothing personal in the token, and a long random one to refresh it."""
    session = password_owner(run).session
    require_shape("a session", SESSION, session)
    require_equal("expiresInSeconds", 1800, session["expiresInSeconds"])
    # 256 random bits are 43 characters of base64; an email address is personal.
    require(len(session["refreshToken"]) >= 43, "The refresh token is too short to be random.")
    # The whole of it: "ed" is in every other token by chance.
    email = run.credentials.email.encode().lower()
    has_email = any(email in reading.lower() for reading in _readings(session["accessToken"]))
    require(not has_email, "The access token has the email address.")


def _readings(token: str) -> Iterator[bytes]:
    """The token as it is, and what its parts may be made of: hexadecimal digits, or base64 as in a JWT."""
    yield token.encode()
    for part in token.split("."):
        with suppress(ValueError):
            yield bytes.fromhex(part)
        with suppress(ValueError):
            yield urlsafe_b64decode(part + "=" * (-len(part) % 4))


@account_check("C-ACC-13")
def _the_account_reads_itself(run: Run) -> None:
    """By its access token."""
    owner = owner_of(run)
    owner.require_whole()
    account = owner.call("GET", "/api/auth/me").expect_document()
    require_shape("an account", ACCOUNT, account)
    if owner.session:
        require_equal("accountId", owner.session["accountId"], account["accountId"])


@account_check("C-ACC-4")
def _an_address_is_compared_without_capitals_and_spaces(run: Run) -> None:
    """The second session is signed out again."""
    owner = password_owner(run)
    sent = {"email": f" {run.credentials.email.swapcase()} ", "password": run.credentials.password}
    session = ask(run, "login", sent).expect_document()
    require_equal("accountId", owner.session["accountId"], session["accountId"])
    ask(run, "logout", {"refreshToken": session["refreshToken"]}).expect(204)


@account_check("C-ACC-7")
def _a_wrong_address_and_a_wrong_password_are_one_answer(run: Run) -> None:
    """Two of the three failures of a run."""
    owner = password_owner(run)
    password = f"wrong {uuid4()}"
    first = ask(run, "login", {"email": run.credentials.email, "password": password})
    other = ask(run, "login", {"email": f"nobody-{owner.nonce}@example.org", "password": password})
    first.expect_error(401)
    require_same("a wrong password and a wrong address", first, other)
    require("twoFactorRequired" not in first.document(), "A wrong password carries twoFactorRequired.")


@account_check("C-ACC-14")
def _a_refresh_token_works_once(run: Run) -> None:
    """And its second use ends no other session."""
    owner = password_owner(run)
    used = owner.session["refreshToken"]
    session = ask(run, "refresh", {"refreshToken": used}).expect_document()
    owner.adopt(session)
    require_shape("a session", SESSION, session)
    require(session["refreshToken"] != used, "A refresh answers the token that was sent.")
    ask(run, "refresh", {"refreshToken": used}).expect_error(401)
    # The second use changes nothing else: the replacement still works.
    owner.adopt(ask(run, "refresh", {"refreshToken": session["refreshToken"]}).expect_document())
    owner.call("GET", "/api/auth/me").expect(200)


@account_check("C-ACC-16")
def _signing_out_and_forgetting_are_always_204(run: Run) -> None:
    """Also with a token that is used or unknown; what is no address gets no email."""
    owner = password_owner(run)
    extra = ask(run, "login", {"email": run.credentials.email, "password": run.credentials.password}).expect(200)
    token = extra.document()["refreshToken"]
    bodies: list[Any] = [{"refreshToken": token}, {"refreshToken": token}, {"refreshToken": "unknown"}, {}, []]
    for value in bodies:
        ask(run, "logout", value).expect(204)
    ask(run, "refresh", {"refreshToken": token}).expect_error(401)
    # Not an address, so that nobody gets an email.
    ask(run, "forgot", {"email": owner.nonce}).expect(204)


@account_check("C-ACC-2", "C-ACC-5")
def _what_is_no_registration_is_refused(run: Run) -> None:
    """No address, a password of 9 or 1025 characters, and the account's own address."""
    password_owner(run)
    taken = {"email": run.credentials.email, "password": "p" * 10}
    for value, status in (
        ({"email": "no address", "password": "p" * 10}, 400),
        ({**taken, "password": "p" * 9}, 400),
        ({**taken, "password": "p" * 1025}, 400),
        (taken, 409),
    ):
        reply = ask(run, "register", value)
        if reply.status == 403:
            reply.expect_error(403, "registration_closed")
            raise Skipped("registration is closed")
        reply.expect_error(status)


@account_check("C-TOK-5")
def _a_publisher_key_is_exchanged_and_an_unknown_one_is_not(run: Run) -> None:
    """The third failure of a run."""
    owner = owner_of(run)
    if run.credentials.publisher_key:
        _ = owner.token
        require_shape("the session of a key", KEY_SESSION, owner.session)
        require("refreshToken" not in owner.session, "The session of a key has a refresh token.")
    ask(run, "exchange", {"key": f"mhk_{owner.nonce}_unknown"}).expect_error(401, "invalid_key")


@account_check("C-TOK-6")
def _a_publisher_key_only_edits(run: Run) -> None:
    """It lists mods, and is a stranger to the account, to its sessions and to votes."""
    owner = owner_of(run)
    if not run.credentials.publisher_key:
        raise Skipped("needs a publisher key instead of the account")
    owner.call("GET", "/api/modhub/mine").expect(200)
    owner.call("GET", "/api/auth/me").expect(401)
    path = f"/api/modhub/{run.a_mod['id']}/vote"
    require("value" not in owner.call("GET", path).expect_document(), "A key reads its own vote.")
    # No vote at all, so that nothing changes if the key may vote.
    owner.call("PUT", path, {"value": 7}).expect(401)
    owner.call("DELETE", f"/api/modhub/{UNKNOWN_ID}").expect(401)


@account_check("C-ACC-27", "C-ACC-28", added=True)
def _a_program_asks_to_be_allowed_elsewhere(run: Run) -> None:
    """Nobody allows it, and it is forgotten after ten minutes."""
    codes = described_answer(run, "POST /api/auth/device", ask(run, "device", {"client": MARK}))
    require_equal("its life and interval", (600, 5), (codes["expiresInSeconds"], codes["intervalSeconds"]))
    require_shape("userCode", _USER_CODE, codes["userCode"])
    require(len(codes["deviceCode"]) >= 43, "The device code is too short to be random.")
    require(codes["verificationUrl"].endswith("/Modhub/account/device"), "verificationUrl is another page.")
    polled = {"deviceCode": codes["deviceCode"]}
    ask(run, "device/token", polled).expect_error(400, "authorization_pending")
    early = run.service.call("POST", "/api/auth/device/token", polled, patient=False)
    wait = early.expect_error(429, "slow_down").get("retryAfterSeconds")
    require_equal("Retry-After of an early poll", str(wait), early.header("Retry-After"))
    ask(run, "device/token", {"deviceCode": "unknown"}).expect_error(400, "expired_token")
    ask(run, "device/token", {}).expect_error(400, "invalid_input")


def vote_path(run: Run) -> str:
    """The address of the votes on a mod of somebody else."""
    return f"/api/modhub/{foreign_mod(run)}/vote"


@account_check("C-VOTE-1", "C-VOTE-2")
def _a_vote_is_answered_with_all_votes(run: Run) -> None:
    """The account sends the vote that it has, so nothing changes."""
    owner = owner_of(run)
    owner.require_whole()
    path = vote_path(run)
    before = owner.call("GET", path).expect_document()
    require_shape("votes read by an account", object_of(ups=NUMBER, downs=NUMBER, value=NUMBER), before)
    # The vote that the account has, so that nothing changes.
    after = owner.call("PUT", path, {"value": before["value"]}).expect_document()
    require_equal("votes after the same vote", before, after)
    for bad in (2, "1", None, 0.5):
        owner.call("PUT", path, {"value": bad}).expect_error(400)
    others = {"ups": before["ups"], "downs": before["downs"]}
    for headers in ({}, {"Authorization": "Bearer x"}):
        votes = run.service.call("GET", path, headers=headers).expect_document()
        require_equal("votes read without a token, or with a bad one", others, votes)


@account_check("C-VOTE-1")
def _a_vote_that_is_changed_counts_once(run: Run) -> None:
    """With ``--may-leave-traces``: for, against, withdrawn, as before. Once more if somebody else votes meanwhile."""
    owner = owner_of(run)
    owner.require_whole()
    if not run.may_leave_traces:
        raise Skipped("needs --may-leave-traces: it votes on a mod of somebody else for a moment")
    path = vote_path(run)
    try:
        _vote_in_turn(owner, path)
    except Broken:
        _vote_in_turn(owner, path)


def _vote_in_turn(owner: Owner, path: str) -> None:
    before = owner.call("GET", path).expect_document()
    own = owner.votes.setdefault(path, before["value"])
    # What the others have voted.
    ups, downs = before["ups"] - (before["value"] == 1), before["downs"] - (before["value"] == -1)
    for value in (1, -1, 1, 0, own):
        expected = {"ups": ups + (value == 1), "downs": downs + (value == -1), "value": value}
        require_equal(f"votes after {value}", expected, owner.vote(path, value).expect_document())
        require_equal(f"votes read after {value}", expected, owner.call("GET", path).expect_document())
