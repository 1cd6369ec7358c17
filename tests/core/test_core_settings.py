"""Settings: each error stops the start with one line; the environment overrides the ini."""

import logging

import pytest

import modhub
from modhub.base.service_registry import find_service
from modhub.base.settings import Secret, StartRefused, machine_keys, origin, secrets
from modhub.db import Databases
from modhub.plugins.declarations import Declarations
from modhub_testing import TEST_SECRET

pytestmark = pytest.mark.slow

DEVELOPMENT = "development-only-secret-never-for-production"


WRONG = [
    ({"modhub.secret": ""}, "modhub.secret must hold at least 32"),
    ({"modhub.secret": f"{TEST_SECRET}\nshort"}, "modhub.secret must hold at least 32"),
    (
        {"modhub.secret": f"{TEST_SECRET}\n{DEVELOPMENT}", "modhub.base_url": "https://mods.example.org"},
        "modhub.secret is the one of",
    ),
    ({"modhub.base_url": "ftp://x.org"}, "modhub.base_url must be an origin"),
    ({"sqlalchemy.pool_size": "0"}, "sqlalchemy.pool_size must be a whole number from 1"),
    ({"sqlalchemy.max_overflow": "-1"}, "sqlalchemy.max_overflow must be a whole number"),
    ({"ApiPrivateKeys": "hunter2 x\nother\nhunter2 y"}, "ApiPrivateKeys names the same key twice: its keys 1 and 3"),
    ({"modhub.": "x"}, "modhub. is unknown; docs/settings.md lists those of modhub itself"),
]
"""Beside those of test_start_sentences.py."""


@pytest.mark.parametrize(("change", "sentence"), WRONG, ids=lambda value: str(value)[:40])
def test_each_refusal_is_one_line(good, change, sentence):
    # C-SET-2, C-SET-3
    with pytest.raises(StartRefused) as refusal:
        modhub.configure({**good, **change})
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("host", ["", "u:p@x.org", "möds.example", "a b", "x.org/path", "x.org?", "x.org:99999"])
def test_an_origin_has_a_host_as_browsers_write_it(host):
    with pytest.raises(ValueError, match="must be an origin"):
        origin(f"https://{host}")


@pytest.mark.parametrize(
    ("written", "browsers"),
    [
        ("HTTPS://mods.example.org/", "https://mods.example.org"),
        ("https://mods.example.org:443", "https://mods.example.org"),
        ("http://mods.example.org:443", "http://mods.example.org:443"),
        ("http://[2001:DB8::A]", "http://[2001:db8::a]"),
    ],
)
def test_the_base_url_is_kept_as_browsers_write_an_origin(written, browsers):
    assert origin(written) == browsers
    assert origin(browsers) == browsers


def test_what_is_right_starts(good):
    # C-SET-2, C-SET-3
    for change in (
        {"modhub.secret": DEVELOPMENT, "modhub.base_url": "http://localhost:6543"},
        {"modhub.secret": f"{TEST_SECRET}\n{DEVELOPMENT}", "modhub.base_url": "http://[::1]:6543"},
        {"modhub.base_url": "https://mods.example.org/"},
        {"modhub_wiki.title": "a feature that is not included", "other.key": "x"},
        {"modhub.mail_dir": "/var/mail"},
    ):
        config = modhub.configure({**good, **change})
        assert not config.registry.settings["modhub.base_url"].endswith("/")
        find_service(config.registry, Databases).dispose()


def test_the_environment_wins(good, monkeypatch):
    # C-SET-1
    monkeypatch.setenv("MODHUB_BASE_URL", "https://other.example.org")
    monkeypatch.setenv("APIPRIVATEKEYS", "from-env Modhub:wiki\nsecond")
    monkeypatch.setenv("MODHUB_SECRET", "s" * 40)
    monkeypatch.setenv("PYRAMID_INCLUDES", "modhub_testing.accounts")
    config = modhub.configure({**good, "modhub.base_url": "http://127.0.0.1", "pyramid.includes": "nonsense"})
    settings = config.registry.settings
    assert settings["modhub.base_url"] == "https://other.example.org"
    assert [str(key.key) for key in settings["ApiPrivateKeys"]] == ["from-env", "second"]
    assert settings["modhub.secret"] == ("s" * 40,)
    find_service(config.registry, Databases).dispose()
    monkeypatch.setenv("MODHUB_BASE_URL", "nonsense")
    with pytest.raises(StartRefused, match=r"modhub\.base_url"):
        modhub.configure(good)


def test_secrets_do_not_show(good, caplog):
    # C-ERR-9
    caplog.set_level(logging.DEBUG)
    keys = {"ApiPrivateKeys": "machine-key-1", "modhub.storage_address_key": "address-key-1"}
    keys |= {"modhub.storage.secret_key": "object-key-1"}
    config = modhub.configure({**good, **keys})
    shown = (
        repr(dict(config.registry.settings)) + repr(find_service(config.registry, Declarations).settings) + caplog.text
    )
    for secret in (TEST_SECRET, "machine-key-1", "address-key-1", "object-key-1"):
        assert secret not in shown
    assert repr(Secret("x")) == "Secret(...)"
    assert TEST_SECRET not in repr(secrets(TEST_SECRET))
    assert "key" not in repr(machine_keys("key"))
    find_service(config.registry, Databases).dispose()
