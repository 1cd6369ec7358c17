"""``modhub-admin tag``: the list of tags."""

import argparse
from typing import Any, Final

from pyramid.config import Configurator

from modhub.base.settings import StartRefused
from modhub.content import text
from modhub.plugins.commands import AdminCommand, add_dry_run_option, add_json_option
from modhub_tags import services
from modhub_tags.limits import TAG_NAME, TAG_TITLE, is_tag_name
from modhub_tags.read_service import listed_tags

_EXAMPLES: Final = """\
tag list
tag add speedrun --en Speedrun --de Speedrun
tag remove speedrun --dry-run
tag remove speedrun

`tag add` also changes the titles of a tag. A tag that is removed leaves all mods."""


def run_tag(admin: Any, arguments: argparse.Namespace) -> int:
    """``tag list|add|remove``"""
    if arguments.action == "list":
        return list_tags(admin, as_json=arguments.json)
    if not is_tag_name(arguments.name):
        raise StartRefused(f"a name has 1 to {TAG_NAME} of the characters a-z, 0-9 and -")
    act = {"add": _add, "remove": _remove}[arguments.action]
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        done, problem = act(session, arguments)
    if problem:
        admin.say_problem(problem)
        return 1
    would, remark = ("would be", " Nothing was changed.") if arguments.dry_run else ("was", "")
    admin.say(f"The tag {arguments.name} {would} {done}.{remark}")
    return 0


def _add(session: Any, arguments: argparse.Namespace) -> tuple[str, str]:
    english = _cleaned(arguments.en)
    is_new = services.put_tag(session, arguments.name, english, _cleaned(arguments.de or english))
    return "added to the list" if is_new else "titled", ""


def _remove(session: Any, arguments: argparse.Namespace) -> tuple[str, str]:
    mods = services.remove_tag(session, arguments.name)
    problem = f"There is no tag {arguments.name} in the list." if mods is None else ""
    return f"removed from the list and from {mods} mods", problem


def _cleaned(title: str) -> str:
    cleaned = text.line(title, TAG_TITLE)
    if not cleaned:
        raise StartRefused("a title must not be empty")
    return cleaned


def list_tags(admin: Any, *, as_json: bool) -> int:
    """Print one line per tag."""
    tags = listed_tags(admin.databases.raw_queries)
    for tag in tags:
        if as_json:
            admin.say_json({"name": tag.name, "titles": {"en": tag.en, "de": tag.de}})
        else:
            admin.say(f"{tag.name}: {tag.en}, {tag.de}")
    if not tags and not as_json:
        admin.say("No tags.")
    return 0


def tag_arguments(parser: argparse.ArgumentParser) -> None:
    """``list``, ``add NAME --en T [--de T]``, ``remove NAME``"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    about_list = "List the tags: name, English and German title."
    add_json_option(actions.add_parser("list", help="list the tags", description=about_list))
    about_add = "Add a tag that authors can choose, or change its titles."
    add = actions.add_parser("add", help="add a tag, or change its titles", description=about_add)
    about_remove = "Remove a tag from the list and from all mods."
    remove = actions.add_parser("remove", help="remove a tag", description=about_remove)
    for action in (add, remove):
        action.add_argument("name", metavar="NAME", help="1 to 32 of the characters a-z, 0-9 and -")
        add_dry_run_option(action)
    most = f"at most {TAG_TITLE} characters"
    add.add_argument("--en", metavar="TEXT", required=True, help=f"the English title, {most}")
    add.add_argument("--de", metavar="TEXT", help="the German title; without it, the English one")


def includeme(config: Configurator) -> None:
    """The command ``tag``."""
    config.add_command(AdminCommand("tag", "the list of tags", tag_arguments, run_tag, examples=_EXAMPLES))
