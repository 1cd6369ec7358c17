"""Warnings at the start about likely mistakes; no key is shown."""

import logging
from typing import Any

import pytest

import modhub
from modhub.admin import program as admin
from modhub.admin.start_checks import is_guessable, is_public
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.plugins.workers import Workers
from modhub_testing import TEST_SECRET, Start

SHORT = "k3y-of-the-agent"
LONG = "0f3c9d1e5b7a4862b1d4e7f0a3c68952"


@pytest.fixture
def warned(new_database: Any, caplog: pytest.LogCaptureFixture) -> Any:
    """``warned(modhub__base_url=...)``: the sentences at the start of a service with these settings."""
    url = new_database("modhub_builds")

    def start(**settings: str) -> list[str]:
        caplog.clear()
        overrides = {name.replace("__", "."): value for name, value in settings.items()}
        base = {"sqlalchemy.url": url, "modhub.secret": TEST_SECRET, "pyramid.includes": "modhub_builds"}
        app = modhub.main({}, **(base | overrides))
        # Its workers would go on without their database, in the logs of other tests.
        find_service(app.registry, Workers).stop()
        find_service(app.registry, Databases).dispose()
        assert {record.levelno for record in caplog.records if record.name == "modhub"} <= {logging.WARNING}
        assert SHORT not in caplog.text
        assert LONG not in caplog.text
        return [record.getMessage() for record in caplog.records if record.name == "modhub"]

    return start


@pytest.mark.slow
def test_each_slip_is_one_sentence(warned: Any) -> None:
    # T-F11
    good = {"ApiPrivateKeys": f"{LONG} Modhub:app", "modhub__storage_address_key": LONG}
    assert warned(**good, modhub__base_url="https://mods.example.org", pyramid__reload_templates="true") == []
    assert warned(modhub__base_url="http://127.0.0.1:6543") == []
    slips = {
        "modhub.base_url is http://mods.example.org, without https": {"modhub__base_url": "http://mods.example.org"},
        "machine key 2 of ApiPrivateKeys has fewer than 32 characters": {"ApiPrivateKeys": f"{LONG}\n{SHORT}"},
        "machine key 1 of ApiPrivateKeys has a scope that no included feature declares: Modhub:wikki, x": {
            "ApiPrivateKeys": f"{LONG} x Modhub:app Modhub:wikki"
        },
        "modhub.storage_address_key has fewer than 32 characters": {"modhub__storage_address_key": SHORT},
        "no included package reads these keys of the ini: maill.host, x": {"maill__host": SHORT, "x": "1"},
        "secret 2 of modhub.secret repeats too few characters": {"modhub__secret": f"{TEST_SECRET}\n{'ab' * 20}"},
        "machine key 1 of ApiPrivateKeys repeats too few characters": {"ApiPrivateKeys": f"{'k' * 64} Modhub:app"},
        "modhub.storage_address_key repeats too few characters": {"modhub__storage_address_key": "0123456789" * 4},
    }
    slips["machine key 1 of ApiPrivateKeys names no scope, and no included feature declares one"] = {
        "ApiPrivateKeys": LONG,
        "pyramid__includes": "",
    }
    for sentence, settings in slips.items():
        (warning,) = warned(**settings)
        assert warning.startswith(sentence)
    assert len(warned(ApiPrivateKeys=f"{SHORT} x", modhub__base_url="http://8.8.8.8")) == 3


@pytest.mark.parametrize(
    ("value", "guessable"),
    [
        ("x" * 64, True),
        ("abc" * 20, True),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", True),
        ("0000000000000000000000000000000000000000000000000000000000000001", True),
        ("0f3c9d1e5b7a4862b1d4e7f0a3c68952", False),
        ("correct horse battery staple of mine", False),
        (TEST_SECRET, False),
    ],
)
def test_what_can_be_guessed(value: str, guessable: bool) -> None:
    assert is_guessable(value) is guessable


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("http://mods.example.org", True),
        ("http://8.8.8.8:80", True),
        ("http://[2a00::1]", True),
        ("http://localhost:6543", False),
        ("http://modhub", False),
        ("http://modhub.internal", False),
        ("http://mods.home.arpa", False),
        ("http://127.0.0.1", False),
        ("http://192.168.0.9", False),
        ("http://[fd00::1]", False),
    ],
)
def test_what_a_public_address_is(url: str, public: bool) -> None:
    assert is_public(url) is public


def test_a_new_key_with_an_unknown_scope_is_warned_about(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    admin.run_command(start("modhub_builds").config, ["-c", "x.ini", "key", "new", "Modhub:app", "Modhub:nonsense"])
    assert "No included feature declares the scope Modhub:nonsense" in capsys.readouterr().out


def test_check_warns_as_a_start_does(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    # T-F11
    config = start("modhub_builds", fresh=True, **{"ApiPrivateKeys": f"{SHORT} Modhub:app", "maill.host": "x"}).config
    assert admin.run_command(config, ["-c", "x.ini", "check"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "The configuration is valid and the database is up to date.\n"
    warnings = printed.err.splitlines()
    assert all(line.startswith("modhub-admin: warning: ") for line in warnings)
    assert [words in line for words, line in zip(("fewer than 32", "maill.host"), warnings, strict=True)] == [True] * 2
    assert SHORT not in printed.err
