"""``modhub-admin audit list|verify|export``"""

import argparse
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import Select, select, true
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from modhub.audit.hashing import EntryMac
from modhub.audit.models import AuditEntry, PersonalPart
from modhub.audit.sealing import seal_entries
from modhub.audit.verification import ChainHead, chain_head, damage, last_number
from modhub.db import bulk, iso
from modhub.declarations import AdminCommand, parse_count, parse_moment

ENTRIES_PER_PAGE: Final = 50
ACTOR_KINDS: Final = ("account", "key", "operator", "nobody", "service")
_EXAMPLES: Final = """\
audit list                            the 50 newest entries
audit list --actor "account 7"        what account 7 did
audit list --target "mod 12"          what was done to mod 12
audit list --since 2026-11-01 --json  one JSON object per line
audit verify                          seals new entries, checks all; note the last line
audit verify --expect 512:9f86d0...   also checks that the chain still has what was noted
audit export > audit.jsonl            all entries, oldest first"""


def entry_document(entry: AuditEntry, personal: PersonalPart | None) -> dict[str, Any]:
    """An entry as JSON. Erased parts are null."""
    return {
        "number": entry.number,
        "at": iso(entry.at),
        "actor": {"kind": entry.actor_kind, "id": entry.actor_id},
        "action": entry.action,
        "target": {"kind": entry.target_kind, "id": entry.target_id},
        "details": json.loads(entry.details) if entry.details else {},
        "requestId": entry.request_id or None,
        "address": (personal.address or None) if personal else None,
        "name": (personal.name or None) if personal else None,
        "personalDigest": entry.personal_digest or None,
        "token": entry.token,
        "digest": entry.digest,
    }


def describe_entry(entry: AuditEntry, personal: PersonalPart | None) -> str:
    """An entry in one line, without control characters."""
    details = json.loads(entry.details) if entry.details else {}
    facts = "".join(f", {name} {_plain(value)}" for name, value in details.items())
    source = " ".join(filter(None, (personal.name, personal.address))) if personal else ""
    actor = " ".join(filter(None, (entry.actor_kind, entry.actor_id)))
    target = " ".join(filter(None, (entry.target_kind, _plain(entry.target_id))))
    number = "(not sealed)" if entry.number is None else str(entry.number)
    return (
        f"{number} {iso(entry.at)} {actor}{f' ({_plain(source)})' if source else ''}: {entry.action}: {target}{facts}"
    )


def _plain(value: object) -> str:
    text = str(value)
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _entries(arguments: argparse.Namespace) -> "Select[AuditEntry, PersonalPart]":
    query = select(AuditEntry, PersonalPart).outerjoin(PersonalPart, PersonalPart.token == AuditEntry.token)
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


def _batches(session: Session, arguments: argparse.Namespace) -> Iterator[tuple[AuditEntry, PersonalPart | None]]:
    """All matching entries, oldest first."""
    last = 0
    while batch := session.execute(
        _entries(arguments).where(AuditEntry.id > last).order_by(AuditEntry.id).limit(bulk.BATCH)
    ).all():
        last = batch[-1][0].id
        yield from ((entry, personal) for entry, personal in batch)
        session.expunge_all()


def list_entries(admin: Any, arguments: argparse.Namespace) -> int:
    """Print the matching entries, newest first."""
    newest = _entries(arguments).order_by(AuditEntry.id.desc()).limit(arguments.limit)
    with admin.reading() as session:
        rows = session.execute(newest).all()
    for entry, personal in rows:
        if arguments.json:
            admin.say_json(entry_document(entry, personal))
        else:
            admin.say(describe_entry(entry, personal))
    if not rows and not arguments.json:
        admin.say("No matching entries.")
    return 0


def export_entries(admin: Any, arguments: argparse.Namespace) -> int:
    """Print all matching entries as JSON, one object per line, oldest first."""
    with admin.reading() as session:
        for entry, personal in _batches(session, arguments):
            admin.say_json(entry_document(entry, personal))
    return 0


def verify_chain(admin: Any, arguments: argparse.Namespace) -> int:
    """Seal new entries, then check every entry; the exit code is 1 if there is a problem."""
    mac = admin.find_service(EntryMac)
    problems = []
    try:
        seal_entries(admin.databases.write_session.begin, mac)
    except IntegrityError:
        problems.append("New entries cannot be sealed: the end of the chain was changed.")
    with admin.reading() as session:
        # In this order: the service may seal in the meantime.
        number, head = last_number(session), chain_head(session)
        if number > head.number:
            problems.append(f"The end of the chain is entry {head.number}, but there are entries up to {number}.")
        problems += damage(session, mac, head, arguments.expect)
    _print_result(admin, head, problems, as_json=arguments.json)
    return 1 if problems else 0


def _print_result(admin: Any, head: ChainHead, problems: list[str], *, as_json: bool) -> None:
    if as_json:
        admin.say_json({"entries": head.number, "digest": head.digest, "problems": problems})
        return
    for problem in problems:
        admin.say(problem)
    admin.say(f"Problems found: {len(problems)}." if problems else "No problems found.")
    admin.say(f"Sealed entries: {head.number}. To check later that they are still the same:")
    admin.say(f"audit verify --expect {head.number}:{head.digest}")


AUDIT_ACTIONS: Final = {"list": list_entries, "verify": verify_chain, "export": export_entries}


def run_audit(admin: Any, arguments: argparse.Namespace) -> int:
    """``audit list|verify|export``"""
    return AUDIT_ACTIONS[arguments.action](admin, arguments)


def _actor(value: str) -> str:
    if value.partition(" ")[0] not in ACTOR_KINDS:
        raise argparse.ArgumentTypeError(f"{value!r} does not begin with one of: {', '.join(ACTOR_KINDS)}")
    return value


def _head(value: str) -> ChainHead:
    match = re.fullmatch(r"([0-9]{1,18}):([0-9a-f]{64})", value)
    if match is None:
        raise argparse.ArgumentTypeError(f"{value!r} is not what audit verify prints after --expect")
    return ChainHead(int(match[1]), match[2])


def audit_arguments(parser: argparse.ArgumentParser) -> None:
    """``list``, ``verify``, ``export``"""
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
    verify = actions.add_parser("verify", help="seal new entries and check that none was changed, removed or inserted")
    verify.add_argument("--expect", type=_head, metavar="NUMBER:DIGEST", help="what an earlier verify has printed")
    verify.add_argument("--json", action="store_true", help="one JSON document")
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
    help_text = "what operators, keys and accounts did: list, verify, export"
    config.add_command(AdminCommand("audit", help_text, audit_arguments, run_audit, examples=_EXAMPLES))
