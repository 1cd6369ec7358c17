"""Every command of ``modhub-admin`` that a production.ini brings has ``--dry-run`` or ``--json``."""

import argparse
import configparser
import json
import logging
import re
import shlex
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import MetaData, select

from modhub.admin.program import build_admin_parser
from modhub.audit.models import AuditEntry
from modhub_testing import stored_files
from modhub_testing.databases import UNMAPPED
from tests.people import read

ROOT = Path(__file__).parents[2]
READING = {
    "account export",
    "account keys",
    "account list",
    "account show",
    "advisory list",
    "audit export",
    "audit list",
    "build list",
    "check",
    "doctor",
    "evidence",
    "game list",
    "key new",
    "letters list",
    "mod list",
    "mod show",
    "moderator list",
    "openapi",
    "scan list",
    "tag list",
    "verify",
}
"""Commands that change nothing that anybody sees: nothing to rehearse."""
EXAMPLES = {
    "demo": [],
    "game add": ["A game"],
    "game remove": ["A game"],
    "tag add": ["speedrun", "--en", "Speedrun"],
    "tag remove": ["map"],
    "account confirm": ["ada@example.org"],
    "account block": ["ada@example.org", "--reason", "Malware"],
    "account unblock": ["ada@example.org"],
    "account sign-out": ["ada@example.org"],
    "mod hide": ["1", "2", "--reason", "Malware"],
    "mod restore": ["1"],
    "mod delete": ["2", "--yes"],
    "pictures rebuild": [],
    "snapshot": [],
    "rebuild": [],
    "build remove": ["linux", "1", "--yes"],
    "account delete": ["ada@example.org", "--yes"],
    "sweep": ["--older-than", "0"],
    "move-storage": ["{storage}", "file://{folder}/moved"],
    "backup": ["{folder}/backup"],
}
"""Each changes something, in this order."""
REHEARSED_ELSEWHERE = {
    "alarm",  # test_auth_alarms.py
    "account remove-factor",  # test_auth_blocked.py
    "account revoke-key",  # test_auth_batches.py
    "advisory add",  # test_advisories_pages.py
    "advisory withdraw",
    "letters retry",  # test_auth_commands.py: only dead emails
    "migrate",  # test_core_migrations.py
    "mod transfer",  # test_auth_offers.py
    "profile clear",  # test_profiles_upkeep.py
    "moderator add",  # test_moderators.py
    "moderator remove",
    "restore",  # test_backup.py: into another database
    "restored",
    "copy-to",
}
LISTED_ELSEWHERE = {"advisory list", "moderator list", "scan list"}
"""In tests/moderation, which have what they list."""
ADA = {"email": "ada@example.org", "password": "correct horse battery"}


def production_includes():
    parser = configparser.RawConfigParser()
    parser.read(ROOT / "production.ini", "utf-8")
    return " ".join(parser["app:main"]["pyramid.includes"].split())


def actions_of(parser, words=()):
    """Each command with its action, and the parser of its other arguments."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from actions_of(child, (*words, name))
            return
        if action.dest == "action" and action.choices:
            words = (*words, *action.choices)
    yield " ".join(words), parser


def has_option(parser, option):
    return option in parser._option_string_actions


@pytest.fixture
def everything(start):
    return start(production_includes(), modhub__mail_dir="{folder}/mail")


@pytest.fixture
def run(everything, run_admin):
    """``run("mod", "list")``: the exit code and what it printed."""
    return partial(run_admin, everything)


def contents(site, metadata):
    """Every row of every table, and every file."""
    with site.databases.readonly_engine.connect() as connection:
        rows = {table.name: sorted(map(repr, connection.execute(select(table)))) for table in metadata.sorted_tables}
    return rows, sorted((str(path), path.read_bytes()) for path in stored_files(site))


def test_every_command_that_changes_something_has_a_dry_run(everything):
    # C-RUN-4
    commands = dict(actions_of(build_admin_parser(everything.config)))
    with_dry_run = {name for name, parser in commands.items() if has_option(parser, "--dry-run")}
    assert commands.keys() - with_dry_run == READING
    assert with_dry_run == EXAMPLES.keys() | REHEARSED_ELSEWHERE
    asking = {name for name, parser in commands.items() if has_option(parser, "--yes")}
    assert asking == {"account delete", "advisory withdraw", "build remove", "mod delete"}


def operator_entries(site):
    """How many entries of the audit trail name the operator."""
    return len(read(site, select(AuditEntry).where(AuditEntry.actor_kind == "operator")))


@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
@pytest.mark.slow
def test_a_dry_run_changes_nothing(everything, run, tmp_path, caplog):
    # C-RUN-4, C-AUD-1
    metadata = MetaData()
    # What search is made of is not scanned, and follows the mods.
    metadata.reflect(everything.databases.readonly_engine, only=lambda name, _: not name.startswith(UNMAPPED))
    places = {"folder": str(tmp_path), "storage": str(everything.registry.settings["modhub.storage"])}
    before = contents(everything, metadata)
    for command, arguments in EXAMPLES.items():
        if command == "game add":  # the first of those that need the samples
            everything.post_json("/api/auth/register", ADA)
            before = contents(everything, metadata)
        words = [*command.split(), *(word.format(**places) for word in arguments)]
        folders = set(tmp_path.rglob("*"))
        caplog.clear()
        with caplog.at_level(logging.INFO, "modhub"):
            code, output = run(*words, "--dry-run")
        assert code == 0, words
        if "--yes" in words:  # what cannot be undone asks for it
            assert run(*words[:-1]) == (1, output.replace("changed.", "changed. Add --yes to do it."))
        assert caplog.messages == [], words
        assert re.search(r"(?i)\bwould\b", output), words
        assert contents(everything, metadata) == before, words
        assert set(tmp_path.rglob("*")) == folders, words
        # It was about something that happens, and is not silent.
        recorded = operator_entries(everything)
        code, output = run(*words)
        assert (code, bool(output)) == (0, True), words
        assert operator_entries(everything) > recorded, words
        after = contents(everything, metadata)
        assert after != before, words
        before = after


@pytest.mark.slow
def test_every_list_is_json_for_programs(everything, run):
    # C-RUN-4
    assert run("demo")[0] == 0
    commands = dict(actions_of(build_admin_parser(everything.config)))
    arguments = {"mod show": ["1", "2"], "account show": ["1"]}
    everything.post_json("/api/auth/register", ADA)
    lists = [name for name in commands if name.split()[-1] in {"list", "show", "verify", "export", "doctor"}]
    # The data of an account are a zip archive.
    lists = [name for name in lists if name not in LISTED_ELSEWHERE | {"account export"}]
    assert len(lists) > 10
    for name in lists:
        _, output = run(*name.split(), *arguments.get(name, []), "--json")
        documents = [json.loads(line) for line in output.splitlines()]
        assert documents, name
        assert all(isinstance(document, dict) for document in documents), name


def test_a_number_that_no_database_can_look_for_is_a_wrong_argument(everything, capsys):
    parser = build_admin_parser(everything.config)
    commands = {
        "evidence": ["NUMBER", "folder"],
        "build remove": ["linux", "NUMBER"],
        "mod restore": ["--batch", "NUMBER"],
        "account unblock": ["--batch", "NUMBER"],
        "profile clear": ["NUMBER"],
    }
    for command, arguments in commands.items():
        for number in ("9" * 19, "x", "\u0663"):
            words = [number if word == "NUMBER" else word for word in arguments]
            with pytest.raises(SystemExit, match="2"):
                parser.parse_args(["-c", "unused", *command.split(), *words])
            assert "is not a number from 1 to 999999999" in capsys.readouterr().err, command
    # `int` takes any number of digits, and argparse's sentence about it is not ours.
    parsers = dict(actions_of(parser))
    assert [name for name, each in parsers.items() if any(action.type is int for action in each._actions)] == []


def test_help_ends_with_examples_that_are_right_calls(everything):
    parser = build_admin_parser(everything.config)
    (commands,) = [action.choices for action in parser._actions if action.dest == "command"]
    for name, command in everything.declarations.commands.items():
        assert f"examples (after modhub-admin -c my.ini):\n  {name}" in commands[name].format_help(), name
        for example in command.examples.partition("\n\n")[0].splitlines():
            line = re.split(r"  | > | \| ", example)[0].replace("HEX", "0" * 64).replace("9f86d0...", "0" * 64)
            # The paths and numbers in it need not exist.
            assert parser.parse_args(["-c", "my.ini", *shlex.split(line)]).command == name


def test_wrong_words_are_usage_errors(everything, run):
    for words in (
        ["audit", "list", "--actor", "nope 7"],
        ["audit", "list", "--since", "soon"],
        ["key", "new", "two words"],
        ["key", "new", ""],
        ["sweep", "--older-than=-1"],
    ):
        with pytest.raises(SystemExit) as ended:
            run(*words)
        assert ended.value.code == 2, words
