"""The operator's handbook names every command that there is."""

import argparse
from pathlib import Path

import modhub
from modhub.db import Databases
from modhub.ops.admin import build_admin_parser
from modhub.service_registry import find_service
from modhub.testing import TEST_SECRET

ROOT = Path(__file__).parents[2]


def words(parser: argparse.ArgumentParser, name: str) -> list[str]:
    """``name`` with each of its actions, or alone when it has none."""
    actions = next((one.choices for one in parser._actions if not one.option_strings and one.choices), None)
    return [f"{name} {action}" for action in actions] if actions else [name]


def test_every_command_is_told(tmp_path):
    settings = {
        "sqlalchemy.url": f"sqlite:///{tmp_path}/none.sqlite",
        "modhub.secret": TEST_SECRET,
        "pyramid.includes": "modhub_auth modhub_builds modhub_wiki",
    }
    config = modhub.configure(settings)
    (commands,) = [one.choices for one in build_admin_parser(config)._actions if one.dest == "command"]
    find_service(config.registry, Databases).dispose()
    known = [line for name, parser in commands.items() for line in words(parser, name)]
    assert len(known) > 15
    told = (ROOT / "docs" / "operations.md").read_text()
    assert [line for line in known if f"`{line}" not in told] == []
