"""Documents name only options that commands have; the systemd units are the documented ones."""

import re
from pathlib import Path

import modhub
from modhub.admin.program import build_admin_parser
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub_testing import TEST_SECRET

ROOT = Path(__file__).parents[2]


def test_the_documents_name_only_options_that_commands_have(tmp_path):
    settings = {
        "sqlalchemy.url": f"sqlite:///{tmp_path}/none.sqlite",
        "modhub.secret": TEST_SECRET,
        "pyramid.includes": "modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki modhub_downloads "
        "modhub_profiles modhub_tags modhub_moderation",
    }
    config = modhub.configure(settings)
    find_service(config.registry, Databases).dispose()
    (commands,) = [action.choices for action in build_admin_parser(config)._actions if action.dest == "command"]
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
