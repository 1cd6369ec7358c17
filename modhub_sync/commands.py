"""``modhub-admin snapshot``"""

import argparse
from typing import Any

from pyramid.config import Configurator

from modhub.audit import record
from modhub.plugins.commands import AdminCommand, add_dry_run_option
from modhub_sync.snapshots import SnapshotMaker


def run_snapshot(admin: Any, arguments: argparse.Namespace) -> int:
    """Make a snapshot now, whatever the schedule says."""
    if arguments.dry_run:
        serial, count = SnapshotMaker(admin.registry).measure()
        admin.say(f"Would make a snapshot of {count} mods, up to serial {serial}. Nothing was changed.")
        return 0
    serial, count = SnapshotMaker(admin.registry).make(admin.store)
    with admin.writing() as (session, _):
        record(session, "snapshot made", "catalogue", serial=serial, mods=count)
    admin.say(f"Snapshot made: {count} mods, up to serial {serial}.")
    if admin.registry.settings["modhub_sync.signing_key"].public is None:
        admin.say("It is not signed: the setting modhub_sync.signing_key is empty.")
    return 0


def includeme(config: Configurator) -> None:
    """Add ``modhub-admin snapshot``."""
    about = "write all published mods to a file"
    examples = "snapshot --dry-run\nsnapshot"
    config.add_command(AdminCommand("snapshot", about, add_dry_run_option, run_snapshot, examples=examples))
