"""Email addresses: which are valid, and which spellings are equal."""

import pytest

from modhub.base.errors import ApiError
from modhub_auth.email_addresses import parse_address, require_address


def test_one_spelling():
    # C-ACC-4, T-C9
    known = {
        "  Ada@Example.ORG\t": "ada@example.org",
        "ADA+x@example.org": "ada+x@example.org",
        "e\u0301a@example.org": "éa@example.org",
        "ÉA@example.org": "éa@example.org",
        "a@xn--bcher-kva.example.org": "a@bücher.example.org",
        "\u212aate@example.org": "kate@example.org",
    }
    assert {sent: parse_address(sent) for sent in known} == known
    assert {address: parse_address(address) for address in known.values()} == {each: each for each in known.values()}


def test_capitals_alone_are_folded():
    addresses = ["straße@example.org", "strasse@example.org", "ıda@example.org", "ida@example.org"]
    assert len({parse_address(address) for address in addresses} - {None}) == len(addresses)


def test_no_address():
    # C-ACC-4, T-C9
    wrong = ["", " ", "ada", "ada@", "@example.org", "ada@localhost", "ada@example", "ada@192.0.2.1", "ada@[192.0.2.1]"]
    wrong += ["Ada <ada@example.org>", "ada@example.org,eve@example.org", "ada@example.org\r\nBcc: eve@example.org"]
    wrong += ["ada@exa\u200bmple.org", "ada\0@example.org", "ada\ud800@example.org", '"ada eve"@example.org']
    wrong += ["a" * 300 + "@example.org", "a" * 1_000_000 + "@example.org", "ada@" + "a." * 200 + "org"]
    assert [sent[:40] for sent in wrong if parse_address(sent) is not None] == []
    with pytest.raises(ApiError) as caught:
        require_address("ada")
    assert (caught.value.status, "email" in caught.value.message) == (400, True)


def test_no_name_server_is_asked(monkeypatch):
    # C-ACC-4
    lookups = []
    monkeypatch.setattr("email_validator.deliverability.validate_email_deliverability", lambda *of: lookups.append(of))
    assert parse_address("ada@a-domain-that-nobody-has.example.org") is not None
    assert lookups == []
