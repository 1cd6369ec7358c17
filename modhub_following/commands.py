"""``modhub-admin following digest``"""

import argparse
from typing import Any, Final

from pyramid.config import Configurator

from modhub.audit import record
from modhub.declarations import AdminCommand, add_dry_run_option, add_json_option
from modhub_following.digests import DigestMaker

_EXAMPLES: Final = """\
following digest              queues the digests that are due; the service sends them
following digest --dry-run    says which, changes nothing
following digest --json       one JSON object per digest"""


def following_arguments(parser: argparse.ArgumentParser) -> None:
    """``digest``"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    digest = actions.add_parser("digest", help="queue the digests that are due")
    add_dry_run_option(digest)
    add_json_option(digest)


def run_following(admin: Any, arguments: argparse.Namespace) -> int:
    """Queue the digests that are due, also of versions that the service's own schedule lets rest."""
    digests = admin.find_service(DigestMaker).run(dry_run=arguments.dry_run)
    if digests and not arguments.dry_run:
        with admin.writing() as (session, _):
            record(session, "digests queued", "outbox", emails=len(digests))
    for account_id, frequency, versions in digests:
        if arguments.json:
            admin.say_json({"accountId": account_id, "frequency": frequency, "versions": versions})
        else:
            admin.say(f"Account {account_id} ({frequency}): new versions: {versions}.")
    if not arguments.json:
        admin.say(f"{'Would be queued' if arguments.dry_run else 'Queued'}: {len(digests)}.")
    return 0


def includeme(config: Configurator) -> None:
    """Register the command."""
    about = "the digests: emails about new versions of what accounts follow"
    config.add_command(AdminCommand("following", about, following_arguments, run_following, examples=_EXAMPLES))
