"""docs/operations.md names every command; a broken ini is told in a sentence; the systemd unit is complete."""

import argparse
import re
from pathlib import Path
from typing import Any, cast

import pytest

import modhub
from modhub import admin_main
from modhub.admin.program import build_admin_parser
from modhub.base.service_registry import find_service
from modhub.catalogue.pictures import decoder
from modhub.content.limits import MB
from modhub.db import Databases
from modhub.server.settings import Settings
from modhub.ui import fragment_cache
from modhub.web import public_reads
from modhub_auth.signin.passwords import HASHES_AT_ONCE, MEMORY_KIB
from modhub_testing import TEST_SECRET

ROOT = Path(__file__).parents[2]
APP = "[app:main]\nuse = egg:modhub\nsqlalchemy.url = sqlite:////x.sqlite\nmodhub.secret = x\n"
LOGGING = """[loggers]
keys = root
[handlers]
keys = console
[formatters]
keys =
[logger_root]
level = LOUD
handlers = console
[handler_console]
class = StreamHandler
args = (sys.stderr,)
"""
BROKEN = {
    "the configuration file is not UTF-8": b"[app:main]\nx = \xe4\n",
    "line 1: a section such as [app:main] must come first": f"x = 1\n{APP}".encode(),
    "there is no section [app:main]": b"[server:main]\nuse = egg:modhub#server\n",
    "line 5: there is a second section [app:main]": f"{APP}[app:main]\n".encode(),
    "line 5: [app:main] has modhub.secret twice": f"{APP}modhub.secret = y\n".encode(),
    "line 5: neither a section nor a key with a value": f"{APP}no key\n".encode(),
    "[app:main] mail.password holds a % that is not part of a %(name)s: write %% for a percent sign, or give the value "
    "as the environment variable MAIL_PASSWORD": f"{APP}mail.password = 1%2\n".encode(),
    "it uses the egg modhubb, which is not installed": b"[app:main]\nuse = egg:modhubb\n",
    "[app:main] has no line such as use = egg:modhub": b"[app:main]\nx = 1\n",
    "its logging sections cannot be used (ValueError: Unknown level: 'LOUD')": f"{APP}{LOGGING}".encode(),
}
"""What is wrong with an ini, by what is said of it."""


def words(parser: argparse.ArgumentParser, name: str) -> list[str]:
    """``name`` with each of its actions, or alone when it has none."""
    actions = next((action.choices for action in parser._actions if not action.option_strings and action.choices), None)
    return [f"{name} {action}" for action in actions] if actions else [name]


def admin_commands(tmp_path: Path) -> dict[str, Any]:
    """The parsers of the commands of all features."""
    settings = {
        "sqlalchemy.url": f"sqlite:///{tmp_path}/none.sqlite",
        "modhub.secret": TEST_SECRET,
        "pyramid.includes": "modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki modhub_downloads "
        "modhub_profiles modhub_tags modhub_moderation",
    }
    config = modhub.configure(settings)
    (commands,) = [action.choices for action in build_admin_parser(config)._actions if action.dest == "command"]
    find_service(config.registry, Databases).dispose()
    return cast("dict[str, Any]", commands)


def test_every_command_is_documented(tmp_path: Path) -> None:
    known = [line for name, parser in admin_commands(tmp_path).items() for line in words(parser, name)]
    assert len(known) > 15
    document = (ROOT / "docs" / "operations.md").read_text()
    assert [line for line in known if f"`{line}" not in document] == []


def test_the_documents_name_only_options_that_commands_have(tmp_path: Path) -> None:
    commands = admin_commands(tmp_path)
    named = "|".join(sorted(map(re.escape, commands), key=len, reverse=True))
    command = re.compile(rf"(?:modhub-admin (?:-c \S+ )?|`)({named})\b(?: ([a-z-]+)\b)?([^`|;&\n]*)")
    wrong, seen = [], 0
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for name, action, rest in command.findall(path.read_text("utf-8").replace("\\\n", " ")):
            parser = commands[name]
            choices = next((part.choices for part in parser._actions if isinstance(part.choices, dict)), {})
            known = choices.get(action, parser)._option_string_actions
            options = re.findall(r"(?<!\S)--[a-z0-9-]+", rest)
            seen += len(options)
            wrong += [f"{path.name}: {name} {action} {option}" for option in options if option not in known]
    assert wrong == []
    assert seen > 20


def test_a_broken_ini_is_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # C-RUN-22
    ini = tmp_path / "broken.ini"

    def sentence() -> str:
        assert admin_main(["-c", str(ini), "check"]) == 2
        return capsys.readouterr().err.removeprefix(f"modhub-admin: {ini}: ").removesuffix(".\n")

    assert sentence() == "there is no such configuration file"
    for expected, content in BROKEN.items():
        ini.write_bytes(content)
        assert sentence() == expected
    ini.unlink()
    ini.mkdir()
    assert sentence() == "the configuration file cannot be read: Is a directory"


def test_every_timer_is_enabled_and_described() -> None:
    document = (ROOT / "docs" / "operations.md").read_text()
    timers = sorted(path.stem for path in (ROOT / "deploy").glob("*.timer"))
    for command, ending in (("systemctl enable --quiet --now", "timer"), ("systemctl start", "service")):
        (line,) = re.findall(rf"^{command} (modhub-backup\.{ending} .*)$", document, re.MULTILINE)
        # The doctor is started at the end, when all that it asks is there.
        names = [name for name in timers if name != "modhub-doctor" or ending == "timer"]
        assert sorted(line.split()) == [f"{name}.{ending}" for name in names]
    assert re.search(r"^systemctl start modhub-doctor\.service$", document, re.MULTILINE)
    described = re.findall(r"^\| `(modhub-\w+)` \| (\d\d:\d\d) \|", document, re.MULTILINE)
    assert sorted(described) == [(name, _hour_of(ROOT / "deploy" / f"{name}.timer")) for name in timers]


def _hour_of(timer: Path) -> str:
    return next(line for line in timer.read_text().splitlines() if line.startswith("OnCalendar=")).split()[-1]


def test_the_unit_checks_the_ini_before_a_start_and_a_reload() -> None:
    lines = (ROOT / "deploy" / "modhub@.service").read_text().splitlines()
    commands = [line.partition("=")[::2] for line in lines if line.startswith("Exec")]
    check = "/opt/modhub/.venv/bin/modhub-admin -c /etc/modhub/modhub.ini check"
    assert commands == [
        ("ExecStartPre", check),
        ("ExecStart", "/opt/modhub/.venv/bin/pserve /etc/modhub/modhub.ini port=%i"),
        ("ExecReload", check),
        ("ExecReload", "/bin/kill -HUP $MAINPID"),
    ]


def test_the_units_allow_as_much_memory_as_the_arithmetic_says() -> None:
    capacity = (ROOT / "docs" / "operations.md").read_text("utf-8").partition("## Capacity\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| ([\d,]+) \|$", capacity, re.MULTILINE)
    needs = {what: int(megabytes.replace(",", "")) for what, megabytes in rows}
    parts, sums = [], []
    for what, megabytes in rows:
        if what == "together":
            sums.append(int(megabytes.replace(",", "")))
            assert sum(parts) == sums[-1]
        else:
            parts.append(needs[what])
    unit = (ROOT / "deploy" / "modhub@.service").read_text("utf-8")
    limits = [int(re.findall(rf"^{name}=(\d+)M$", unit, re.MULTILINE)[0]) for name in ("MemoryHigh", "MemoryMax")]
    assert all(0 < limit - together < 50 for limit, together in zip(limits, sums, strict=True))
    # What the program itself limits.
    kept = (public_reads.RESPONSE_BYTES + fragment_cache.BUDGET) // MB
    assert kept == next(size for what, size in needs.items() if what.startswith("what it keeps"))
    unread = Settings.connection_limit * Settings.outbuf_overflow // MB
    assert unread == next(size for what, size in needs.items() if "slow connections" in what)
    assert next(size for what, size in needs.items() if "passwords" in what) == HASHES_AT_ONCE * MEMORY_KIB // 1024
    assert next(size for what, size in needs.items() if "decodes" in what) == decoder.ADDRESS_SPACE // MB
    assert ("with eight `write_threads`" in capacity) is (Settings.write_threads == 8)
