"""What moderators, owners and operators see of scanning."""

import argparse
from collections.abc import Iterator
from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render

from modhub.base.service_registry import find_service
from modhub.db import iso
from modhub.plugins.commands import add_json_option
from modhub.plugins.resources import IOwnMod
from modhub.plugins.services import IProfiles
from modhub.web.request import Request
from modhub_moderation.moderators import IModerationDesk, desk_page
from modhub_moderation.scanning import services
from modhub_moderation.scanning.inspection import Scanning

SCANNER_CHECK_SECONDS: Final = 60.0
"""The check makes the scanner look through more than a hundred megabytes."""
MOST_HITS: Final = 1000


def find_scanner_problems(registry: Any, _session: Any) -> Iterator[str]:
    """Whether the scanner finds a test file, alone and behind as much as an upload may have."""
    return find_service(registry, Scanning).scanner.find_problems()


def scan_arguments(parser: argparse.ArgumentParser) -> None:
    """``list``"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    about = f"What the scanner has found, the last first: at most {MOST_HITS}."
    add_json_option(actions.add_parser("list", help="list what was found", description=about))


def run_scan(admin: Any, arguments: argparse.Namespace) -> int:
    """Print one line for each file in which something was found."""
    with admin.reading() as session:
        hits = services.list_hits(session, MOST_HITS)
    for hit in hits:
        line = {
            "sha256": hit.sha256,
            "rule": hit.rule,
            "bytes": hit.size,
            "account": hit.account_id,
            "mod": hit.mod_id,
            "times": hit.times,
            "last": iso(hit.last_at),
        }
        if arguments.json:
            admin.say_json(line)
        else:
            admin.say("{last} {sha256} {rule}: account {account}, mod {mod}, {times} times".format_map(line))
    if not hits and not arguments.json:
        admin.say("Nothing was found.")
    return 0


HITS_SHOWN: Final = 100


@desk_page(
    context=IModerationDesk,
    name="scans",
    request_method="GET",
    renderer="modhub_moderation:templates/scanning/scans.jinja2",
)
def scans_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/moderation/scans``: the last files in which something was found, with the rule."""
    with request.databases.readonly_session() as session:
        hits = services.list_hits(session, HITS_SHOWN)
    accounts = {hit.account_id for hit in hits if hit.account_id is not None}
    return {"hits": hits, "names": request.find_service(IProfiles).get_profiles(accounts)}


def waiting_panel(context: Any, request: Any) -> Markup | None:
    """Which files of the mod wait for the scanner; nothing if all were scanned."""
    if not IOwnMod.providedBy(context) or context.id is None:
        return None
    waiting = services.list_waiting_files(request.dbsession, context.id)
    if not waiting:
        return None
    values = {"found": any(file.rule is not None for file in waiting)}
    return Markup(render("modhub_moderation:templates/scanning/waiting.jinja2", values, request=request))  # noqa: S704
