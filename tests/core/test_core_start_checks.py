"""Warnings at the start about likely mistakes; no key is shown."""

import modhub
from modhub.admin import program as admin
from modhub.admin.start_checks import start_warnings
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.plugins.workers import Workers
from modhub_testing import TEST_SECRET

SHORT = "k3y-of-the-agent"
LONG = "0f3c9d1e5b7a4862b1d4e7f0a3c68952"
SLIPS = {
    "modhub.base_url is http://mods.example.org, without https": {"modhub.base_url": "http://mods.example.org"},
    "machine key 2 of ApiPrivateKeys has fewer than 32 characters": {"ApiPrivateKeys": f"{LONG}\n{SHORT}"},
    "machine key 1 of ApiPrivateKeys has a scope that no included feature declares: Modhub:wikki, x": {
        "ApiPrivateKeys": f"{LONG} x Modhub:app Modhub:wikki"
    },
    "machine key 1 of ApiPrivateKeys repeats too few characters": {"ApiPrivateKeys": f"{'k' * 64} Modhub:app"},
    "machine key 1 of ApiPrivateKeys names no scope, and no included feature declares one": {
        "ApiPrivateKeys": LONG,
        "pyramid.includes": "",
    },
    "modhub.storage_address_key has fewer than 32 characters": {"modhub.storage_address_key": SHORT},
    "no included package reads these keys of the ini: maill.host, x": {"maill.host": SHORT, "x": "1"},
    "secret 2 of modhub.secret repeats too few characters": {"modhub.secret": f"{TEST_SECRET}\n{'ab' * 20}"},
}


def warned(folder, settings):
    """The sentences about these settings."""
    base = {
        "sqlalchemy.url": f"sqlite:///{folder}/x",
        "modhub.secret": TEST_SECRET,
        "pyramid.includes": "modhub_builds",
    }
    registry = modhub.configure(base | settings).registry
    sentences = list(start_warnings(registry))
    find_service(registry, Databases).dispose()
    assert SHORT not in str(sentences)
    assert LONG not in str(sentences)
    return sentences


def test_each_slip_is_one_sentence(tmp_path):
    # T-F11
    for sentence, settings in SLIPS.items():
        (warning,) = warned(tmp_path, settings)
        assert warning.startswith(sentence)
    good = {"ApiPrivateKeys": f"{LONG} Modhub:app", "modhub.storage_address_key": LONG}
    assert (
        warned(tmp_path, {**good, "modhub.base_url": "https://mods.example.org", "pyramid.reload_templates": "1"}) == []
    )
    assert len(warned(tmp_path, {"ApiPrivateKeys": f"{SHORT} x", "modhub.base_url": "http://8.8.8.8"})) == 3
    for internal in ("http://modhub.internal", "http://192.168.0.9"):
        assert warned(tmp_path, {"modhub.base_url": internal}) == []


def test_check_warns_as_a_start_does(start, capsys, caplog):
    # T-F11
    settings = {"ApiPrivateKeys": f"{SHORT} Modhub:app", "maill.host": "x"}
    config = start("modhub_builds", fresh=True, **settings).config
    assert admin.run_command(config, ["-c", "x.ini", "check"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "The configuration is valid and the database is up to date.\n"
    short, unused = [line.partition("modhub-admin: warning: ")[2] for line in printed.err.splitlines()]
    assert ("fewer than 32" in short, "maill.host" in unused) == (True, True)
    url = config.registry.settings["sqlalchemy.url"]
    ini = {"sqlalchemy.url": url, "modhub.secret": TEST_SECRET, "pyramid.includes": "modhub_builds", **settings}
    app = modhub.main({}, **ini)
    find_service(app.registry, Workers).stop()
    find_service(app.registry, Databases).dispose()
    assert [record.getMessage() for record in caplog.records if record.name == "modhub"] == [short, unused]


def test_a_new_key_with_an_unknown_scope_is_warned_about(start, capsys):
    admin.run_command(start("modhub_builds").config, ["-c", "x.ini", "key", "new", "Modhub:app", "Modhub:nonsense"])
    assert "No included feature declares the scope Modhub:nonsense" in capsys.readouterr().out
