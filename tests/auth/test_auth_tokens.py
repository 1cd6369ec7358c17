"""Access tokens: opaque, signed, one spelling."""

from datetime import timedelta

import pytest

from modhub.db import now
from modhub_auth.signin.access_tokens import (
    _FIELDS,
    _VERSION,
    ACCESS_SECONDS,
    AccessTokens,
    derive_key,
    new_refresh_token,
    token_digest,
)

OLD = "an old secret of more than thirty-two characters"
NEW = "a new secret of more than thirty-two characters!"
SECOND = timedelta(seconds=1)


@pytest.fixture
def tokens() -> AccessTokens:
    return AccessTokens([NEW])


def test_names_its_login_for_1800_seconds(tokens: AccessTokens) -> None:
    # C-TOK-1, C-TOK-2
    time = now()
    token = tokens.make(7, time)
    life = timedelta(seconds=ACCESS_SECONDS)
    assert tokens.login_of(token, time) == 7
    assert tokens.login_of(token, time + life - SECOND) == 7
    assert tokens.login_of(token, time + life) is None


def test_does_not_live_longer_when_the_clock_is_set_back(tokens: AccessTokens) -> None:
    # T-F7
    time = now()
    token = tokens.make(7, time)
    assert tokens.login_of(token, time - timedelta(hours=1)) is None
    assert tokens.login_of(token, time - SECOND) == 7


def test_every_edit_of_every_character_is_refused(tokens: AccessTokens) -> None:
    # C-TOK-2, T-C10
    time = now()
    token = tokens.make(7, time)
    for at in range(len(token)):
        for other in {"0", "f", "A", "g", " ", "é"} - {token[at]}:
            assert tokens.login_of(token[:at] + other + token[at + 1 :], time) is None
    spellings = [token.upper(), token[:-1], token[:-2], token + "0", token + "00", token + "\n", " " + token, ""]
    assert [tokens.login_of(spelling, time) for spelling in spellings] == [None] * len(spellings)
    assert tokens.login_of("٠" * len(token), time) is None


def test_all_secrets_check_and_the_first_signs() -> None:
    # C-TOK-4
    time = now()
    both = AccessTokens([NEW, OLD])
    assert both.login_of(AccessTokens([OLD]).make(7, time), time) == 7
    assert AccessTokens([NEW]).login_of(both.make(7, time), time) == 7
    assert AccessTokens([OLD]).login_of(both.make(7, time), time) is None


@pytest.mark.parametrize(("login_id", "named"), [(2**63 - 1, 2**63 - 1), (2**63, None), (2**64 - 1, None)])
def test_names_only_what_a_database_can_look_for(tokens: AccessTokens, login_id: int, named: int | None) -> None:
    time = now()
    assert tokens.login_of(tokens.make(login_id, time), time) == named


def test_another_purpose_or_version_does_not_pass(tokens: AccessTokens) -> None:
    # C-TOK-1, T-C10
    time = now()
    mine = bytes.fromhex(tokens.make(7, time))
    fields = mine[: _FIELDS.size]

    def signed(fields: bytes, purpose: str) -> str:
        import hmac

        return (fields + hmac.digest(derive_key(NEW, purpose), fields, "sha256")).hex()

    assert tokens.login_of(signed(fields, "access token"), time) == 7
    assert tokens.login_of(signed(fields, "csrf"), time) is None
    assert tokens.login_of(signed(bytes([_VERSION + 1]) + fields[1:], "access token"), time) is None


def test_shows_nothing_of_the_secret(tokens: AccessTokens) -> None:
    assert NEW not in repr(tokens)
    assert NEW.encode().hex() not in tokens.make(7, now())


def test_refresh_tokens_are_long_and_stored_as_a_hash() -> None:
    # C-TOK-3
    token, other = new_refresh_token(), new_refresh_token()
    assert token != other
    assert len(bytes.fromhex(token)) >= 32
    assert len(token_digest(token)) == 64
    assert token not in token_digest(token)
    assert token_digest("\ud800") != token_digest("?")
