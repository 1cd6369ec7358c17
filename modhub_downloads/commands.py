"""``modhub-admin downloads reconcile``"""

import argparse
from typing import Any, Final

from pyramid.config import Configurator

from modhub.audit import record
from modhub.declarations import AdminCommand, add_json_option
from modhub.interfaces import IMods
from modhub_downloads.reconciliation import find_wrong_counts, reconcile

_EXAMPLES: Final = """\
downloads reconcile              makes each mod's downloads the sum of its days
downloads reconcile --dry-run    says which are wrong; exit code 1 if any is"""


def run_downloads(admin: Any, arguments: argparse.Namespace) -> int:
    """Reconcile the counts, as the service does every night."""
    mods = admin.find_service(IMods)
    if arguments.dry_run:
        with admin.reading() as session:
            wrong = find_wrong_counts(session, mods)
    else:
        wrong = reconcile(admin.databases, mods)
        with admin.writing() as (session, _):
            record(session, "download counts reconciled", "catalogue", corrected=len(wrong))
    for count in wrong:
        if arguments.json:
            document = {"mod": count.mod_id, "exists": count.exists, "total": count.total, "days": count.days}
            admin.say_json({**document, "corrected": not arguments.dry_run})
        else:
            admin.say(f"{count}." if arguments.dry_run else f"{count}; corrected.")
    if not arguments.json:
        admin.say(f"Wrong counts: {len(wrong)}." if wrong else "All counts are right.")
    return 1 if wrong and arguments.dry_run else 0


def download_arguments(parser: argparse.ArgumentParser) -> None:
    """``reconcile``, ``--dry-run``, ``--json``"""
    parser.add_argument("action", choices=["reconcile"], help="compare each mod's downloads with the sum of its days")
    parser.add_argument("--dry-run", action="store_true", help="say what is wrong, change nothing")
    add_json_option(parser)


def includeme(config: Configurator) -> None:
    """The command ``downloads``."""
    about = "compare download counts, and correct them"
    config.add_command(AdminCommand("downloads", about, download_arguments, run_downloads, examples=_EXAMPLES))
