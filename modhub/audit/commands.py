"""``modhub-admin audit list|export``"""

import argparse
import json
from collections.abc import Iterator
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import Select, select, true
from sqlalchemy.orm import Session

from modhub.audit.history import facts_of
from modhub.audit.models import AuditEntry
from modhub.db import bulk, iso
from modhub.plugins.commands import AdminCommand, parse_count, parse_moment

ENTRIES_PER_PAGE: Final = 50
ACTOR_KINDS: Final = ("account", "key", "operator", "nobody", "service")
_EXAMPLES: Final = """\
audit list                            the 50 newest entries
audit list --actor "account 7"        what account 7 did
audit list --target "mod 12"          what was done to mod 12
audit list --since 2026-11-01 --json  one JSON object per line
audit export > audit.jsonl            all entries, oldest first"""


def entry_document(entry: AuditEntry) -> dict[str, Any]:
    """An entry as JSON. Erased parts are null."""
    return {
        "number": entry.id,
        "at": iso(entry.at),
        "actor": {"kind": entry.actor_kind, "id": entry.actor_id},
        "action": entry.action,
        "target": {"kind": entry.target_kind, "id": entry.target_id},
        "details": facts_of(entry.details),
        "requestId": entry.request_id or None,
        "address": entry.address,
        "name": entry.name,
    }


def describe_entry(entry: AuditEntry) -> str:
    """An entry in one line, without control characters."""
    facts = "".join(f", {name} {_plain(value)}" for name, value in facts_of(entry.details).items())
    source = " ".join(filter(None, (entry.name, entry.address)))
    actor = " ".join(filter(None, (entry.actor_kind, entry.actor_id)))
    target = " ".join(filter(None, (entry.target_kind, _plain(entry.target_id))))
    who = f"{actor} ({_plain(source)})" if source else actor
    return f"{entry.id} {iso(entry.at)} {who}: {entry.action}: {target}{facts}"


def _plain(value: object) -> str:
    text = str(value)
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _entries(arguments: argparse.Namespace) -> Select[AuditEntry]:
    query = select(AuditEntry)
    if arguments.since is not None:
        query = query.where(AuditEntry.at >= arguments.since)
    if arguments.actor is not None:
        kind, _, actor_id = arguments.actor.partition(" ")
        query = query.where(AuditEntry.actor_kind == kind, AuditEntry.actor_id == actor_id if actor_id else true())
    if arguments.target is not None:
        kind, _, target_id = arguments.target.partition(" ")
        query = query.where(AuditEntry.target_kind == kind, AuditEntry.target_id == target_id if target_id else true())
    if arguments.entry_action is not None:
        query = query.where(AuditEntry.action == arguments.entry_action)
    return query


def _batches(session: Session, arguments: argparse.Namespace) -> Iterator[AuditEntry]:
    """All matching entries, oldest first."""
    last = 0
    while batch := session.scalars(
        _entries(arguments).where(AuditEntry.id > last).order_by(AuditEntry.id).limit(bulk.BATCH)
    ).all():
        last = batch[-1].id
        yield from batch
        session.expunge_all()


def list_entries(admin: Any, arguments: argparse.Namespace) -> int:
    """Print the matching entries, newest first."""
    newest = _entries(arguments).order_by(AuditEntry.id.desc()).limit(arguments.limit)
    with admin.reading() as session:
        entries = session.scalars(newest).all()
        for entry in entries:
            if arguments.json:
                admin.say_json(entry_document(entry))
            else:
                admin.say(describe_entry(entry))
    if not entries and not arguments.json:
        admin.say("No matching entries.")
    return 0


def export_entries(admin: Any, arguments: argparse.Namespace) -> int:
    """Print all matching entries as JSON, one object per line, oldest first."""
    with admin.reading() as session:
        for entry in _batches(session, arguments):
            admin.say_json(entry_document(entry))
    return 0


AUDIT_ACTIONS: Final = {"list": list_entries, "export": export_entries}


def run_audit(admin: Any, arguments: argparse.Namespace) -> int:
    """``audit list|export``"""
    return AUDIT_ACTIONS[arguments.action](admin, arguments)


def _actor(value: str) -> str:
    if value.partition(" ")[0] not in ACTOR_KINDS:
        raise argparse.ArgumentTypeError(f"{value!r} does not begin with one of: {', '.join(ACTOR_KINDS)}")
    return value


def audit_arguments(parser: argparse.ArgumentParser) -> None:
    """``list``, ``export``"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    lister = actions.add_parser("list", help="list entries, newest first")
    lister.add_argument(
        "--limit",
        type=parse_count,
        default=ENTRIES_PER_PAGE,
        metavar="N",
        help="at most this many (default: %(default)s)",
    )
    lister.add_argument("--json", action="store_true", help="one JSON object per line")
    export = actions.add_parser("export", help="print entries as JSON, one object per line, oldest first")
    export.add_argument("--json", action="store_true", help="no effect: the export is always JSON")
    for action in (lister, export):
        action.add_argument(
            "--actor",
            type=_actor,
            metavar="ACTOR",
            help='only what "account 7" did, or all of a kind: operator, key, service, nobody',
        )
        action.add_argument("--target", metavar="TARGET", help='only what was done to "mod 12"')
        action.add_argument("--action", dest="entry_action", metavar="TEXT", help='only this action, "mod published"')
        action.add_argument(
            "--since", type=parse_moment, metavar="TIME", help="only since then, such as 2026-11-21 (UTC)"
        )


def includeme(config: Configurator) -> None:
    """Add ``modhub-admin audit``."""
    help_text = "what operators, keys and accounts did: list, export"
    config.add_command(AdminCommand("audit", help_text, audit_arguments, run_audit, examples=_EXAMPLES))
