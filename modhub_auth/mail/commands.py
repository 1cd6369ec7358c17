"""``modhub-admin letters``: the emails in the outbox."""

import argparse
from datetime import timedelta
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import ColumnElement, select, update

from modhub.audit import record
from modhub.db import bulk, iso, now
from modhub.plugins.commands import AdminCommand, add_dry_run_option, add_json_option
from modhub.web.traversal import parse_id
from modhub_auth.models import HELD, OutgoingEmail

_EXAMPLES: Final = """\
letters list                   every email of the last 30 days and its state
letters list --json            the same, one JSON object per line
letters retry --dry-run        says how many dead and held emails it would send
letters retry                  sends every dead and held email again
letters retry --dead           leaves alone what a restore held, as modhub-letters.timer does
letters retry 12 13            only these"""
NIGHTLY_RETRIES: Final = timedelta(days=7)
"""How old an email may be that `letters retry --dead` takes."""


def email_state(email: OutgoingEmail) -> str:
    """``sent``, ``held``, ``dead``, or ``waits`` with the time of the next attempt."""
    if email.finished_at is None:
        return f"waits until {iso(email.next_at)}" if email.attempts else "waits"
    if email.problem == HELD:
        return "held"
    return "dead" if email.problem else "sent"


def list_emails(admin: Any, *, as_json: bool) -> int:
    """Print one line per email."""
    email = None
    with admin.reading() as session:
        for email in session.scalars(select(OutgoingEmail).order_by(OutgoingEmail.id)):
            if as_json:
                admin.say_json(_email_document(email))
                continue
            state = email_state(email)
            problem = f": {email.problem}" if email.problem and email.problem != HELD else ""
            admin.say(f"{email.id} {iso(email.created_at)} {email.kind} {email.recipient} {state}{problem}")
    if email is None and not as_json:
        admin.say("No emails.")
    return 0


def _email_document(email: OutgoingEmail) -> dict[str, Any]:
    return {
        "id": email.id,
        "createdAt": iso(email.created_at),
        "kind": email.kind,
        "recipient": email.recipient,
        "state": email_state(email).partition(" ")[0],
        "nextAt": iso(email.next_at) if email.finished_at is None else None,
        "attempts": email.attempts,
        "problem": email.problem,
    }


def retry_emails(admin: Any, numbers: list[str], *, dry_run: bool, only_dead: bool = False) -> int:
    """Let dead and held emails be sent again: all, or those with these numbers.

    ``only_dead`` is for every night: an address that does not exist is neither tried nor kept without end.
    """
    is_unsent: list[ColumnElement[bool]] = [OutgoingEmail.finished_at.is_not(None), OutgoingEmail.problem.is_not(None)]
    if only_dead:
        is_unsent += [OutgoingEmail.problem != HELD, OutgoingEmail.created_at > now() - NIGHTLY_RETRIES]
    chosen = [OutgoingEmail.id.in_([parse_id(number) or 0 for number in numbers])] if numbers else []
    with admin.writing() as (session, _):
        retried = set(session.scalars(select(OutgoingEmail.id).where(*is_unsent, *chosen)))
        if not dry_run:
            due = {"finished_at": None, "problem": None, "attempts": 0, "next_at": now()}
            bulk.execute_bulk(session, update(OutgoingEmail).where(*is_unsent, *chosen).values(due))
            if retried:
                record(session, "emails retried", "outbox", emails=len(retried))
    missing = [number for number in numbers if parse_id(number) not in retried]
    for number in missing:
        admin.say_problem(f"There is no dead or held email {number} that can be sent.")
    admin.say(f"{'Would be sent again' if dry_run else 'Waiting to be sent again'}: {len(retried)}.")
    return 1 if missing else 0


def run_emails(admin: Any, arguments: argparse.Namespace) -> int:
    """``letters list|retry``"""
    if arguments.action == "retry":
        return retry_emails(admin, arguments.number, dry_run=arguments.dry_run, only_dead=arguments.dead)
    return list_emails(admin, as_json=arguments.json)


def email_arguments(parser: argparse.ArgumentParser) -> None:
    """``send``, ``list``, ``retry [NUMBER ...]``"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_json_option(actions.add_parser("list", help="list the emails of the last 30 days"))
    retry = actions.add_parser("retry", help="send dead emails, and those held after a restore, again")
    retry.add_argument("number", nargs="*", metavar="NUMBER", help="only these; the list shows the numbers")
    retry.add_argument("--dead", action="store_true", help="not those held after a restore")
    add_dry_run_option(retry, "say how many would be sent, change nothing")


def includeme(config: Configurator) -> None:
    """Register the command."""
    config.add_command(
        AdminCommand("letters", "the emails in the outbox", email_arguments, run_emails, examples=_EXAMPLES)
    )
