"""What operators see of scanning: a check and a command."""

import argparse
from collections.abc import Iterator
from typing import Any, Final

from modhub.base.service_registry import find_optional_service
from modhub.db import iso
from modhub.plugins.commands import add_json_option
from modhub_moderation.scanning import services
from modhub_moderation.scanning.container import Scanning
from modhub_moderation.scanning.interfaces import ScannerDown

SCANNER_CHECK_SECONDS: Final = 60.0
"""The check makes the scanner look through more than a hundred megabytes."""
MOST_HITS: Final = 1000


def find_scanner_problems(registry: Any, _session: Any) -> Iterator[str]:
    """Whether the scanner finds a test file, alone and behind as much as an upload may have."""
    scanning = find_optional_service(registry, Scanning)
    if scanning is not None:
        try:
            yield from scanning.scanner.find_problems()
        except ScannerDown as error:
            yield str(error)


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
