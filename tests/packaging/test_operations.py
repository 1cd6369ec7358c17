"""docs/operations.md names every command; the systemd units are the documented ones."""

import argparse
import re
from pathlib import Path
from typing import Any, cast

import modhub
from modhub.admin.program import build_admin_parser
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub_testing import TEST_SECRET

ROOT = Path(__file__).parents[2]


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
