"""Access tokens: opaque, signed, one spelling."""

import hmac
from datetime import timedelta

import pytest

from modhub.db import now
from modhub_auth.tokens import (
    _FIELDS,
    _VERSION,
    ACCESS_SECONDS,
    AccessTokens,
    LoginClaim,
    derive_key,
)

NEW = "a new secret of more than thirty-two characters!"
SECOND = timedelta(seconds=1)
RANDOM = "0123456789abcdef0123456789abcdef"


def named_by(tokens, token, time):
    claim = tokens.claim_of(token, time)
    return None if claim is None else claim.login_id


def signed(fields, purpose="access token"):
    return (fields + hmac.digest(derive_key(NEW, purpose), fields, "sha256")).hex()


@pytest.fixture
def tokens():
    return AccessTokens([NEW])


def test_names_its_login_for_1800_seconds(tokens):
    # C-TOK-1, C-TOK-2, C-TOK-8
    time = now()
    token = tokens.make(7, RANDOM, time)
    life = timedelta(seconds=ACCESS_SECONDS)
    assert tokens.claim_of(token, time) == LoginClaim(7, RANDOM)
    assert named_by(tokens, token, time + life - SECOND) == 7
    assert tokens.claim_of(token, time + life) is None


def test_does_not_live_longer_when_the_clock_is_set_back(tokens):
    # T-F7
    time = now()
    token = tokens.make(7, RANDOM, time)
    assert tokens.claim_of(token, time - timedelta(hours=1)) is None
    assert named_by(tokens, token, time - SECOND) == 7


def test_every_edit_of_every_character_is_refused(tokens):
    # C-TOK-2, T-C10
    time = now()
    token = tokens.make(7, RANDOM, time)
    for at in range(len(token)):
        for other in {"0", "f", "A", "é"} - {token[at]}:
            assert tokens.claim_of(token[:at] + other + token[at + 1 :], time) is None
    for spelling in (token.upper(), token[:-1], token + "00", token + "\n", "", "٠" * len(token)):
        assert tokens.claim_of(spelling, time) is None


def test_another_purpose_or_version_does_not_pass(tokens):
    # C-TOK-1, T-C10
    time = now()
    mine = bytes.fromhex(tokens.make(7, RANDOM, time))
    fields = mine[: _FIELDS.size]

    assert named_by(tokens, signed(fields, "access token"), time) == 7
    assert tokens.claim_of(signed(fields, "csrf"), time) is None
    assert tokens.claim_of(signed(bytes([_VERSION + 1]) + fields[1:], "access token"), time) is None


def test_shows_nothing_of_the_secret(tokens):
    assert NEW not in repr(tokens)
    assert NEW.encode().hex() not in tokens.make(7, RANDOM, now())
