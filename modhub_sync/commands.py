"""``modhub-admin snapshot``"""

import argparse
from typing import Any

from pyramid.config import Configurator

from modhub.declarations import AdminCommand
from modhub_sync.snapshots import SnapshotMaker


def snapshot_arguments(_parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run_snapshot(admin: Any, _arguments: argparse.Namespace) -> int:
    """Make a snapshot now, whatever the schedule says."""
    serial, count = admin.find_service(SnapshotMaker).make(admin.store)
    admin.say(f"Snapshot made: {count} mods, up to serial {serial}.")
    if admin.registry.settings["modhub_sync.signing_key"].public is None:
        admin.say("It is not signed: the setting modhub_sync.signing_key is empty.")
    return 0


def includeme(config: Configurator) -> None:
    """The command."""
    about = "write all published mods to a file"
    config.add_command(AdminCommand("snapshot", about, snapshot_arguments, run_snapshot, examples="snapshot"))
