"""Commands on emails: list and retry them, tell the operator, check the way out."""

import argparse
import os
import smtplib
import socket
from collections.abc import Iterator, Mapping
from datetime import timedelta
from email.utils import parseaddr
from pathlib import Path
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused, is_loopback
from modhub.db import Databases, bulk, iso, now
from modhub.plugins.commands import AdminCommand, add_dry_run_option, add_json_option
from modhub.web.traversal import parse_id
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import EmailEntry
from modhub_auth.mail.transports import DeliveryRefused, DeliveryUnavailable, connect
from modhub_auth.models import HELD, OutgoingEmail

MAIL_CHECK_SECONDS: Final = 4.0
LONG_WAIT: Final = timedelta(hours=1)
RECENT: Final = timedelta(days=7)


def find_mail_problems(registry: Any, session: Session) -> Iterator[str]:
    """Connect to the mail server as for sending, without sending anything; look at the outbox."""
    settings = registry.settings
    if settings["mail.host"]:
        yield from _find_server_problems(settings)
    elif settings["modhub.mail_dir"]:
        yield from _find_folder_problems(settings)
    else:
        yield "there is neither mail.host nor modhub.mail_dir, so emails go to the log, with their links: set mail.host"
    if not find_service(registry, Databases).has_no_file:
        yield from _find_outbox_problems(session)


def _find_server_problems(settings: Mapping[str, Any]) -> Iterator[str]:
    where = f"the mail server {settings['mail.host']}, port {settings['mail.port']},"
    try:
        server = connect(settings, MAIL_CHECK_SECONDS)
        server.ehlo_or_helo_if_needed()
        server.quit()
    except smtplib.SMTPAuthenticationError as error:
        yield f"{where} rejects the sign-in ({error.smtp_code}): correct mail.username and mail.password"
    except OSError as error:  # also what smtplib and TLS raise
        reason = getattr(error, "smtp_code", None) or error.strerror or type(error).__name__
        yield f"{where} takes no emails ({reason}): start it, or correct mail.host, mail.port, mail.tls or mail.ssl"


def folder_warning(settings: Mapping[str, Any]) -> str | None:
    """A sentence without its full stop if each command would write emails into a folder of its own."""
    folder = settings["modhub.mail_dir"]
    if settings["mail.host"] or not folder or Path(folder).is_absolute():
        return None
    return f"modhub.mail_dir is relative to the folder that each command is started in: set {Path(folder).absolute()}"


def _find_folder_problems(settings: Mapping[str, Any]) -> Iterator[str]:
    folder = Path(settings["modhub.mail_dir"])
    if warning := folder_warning(settings):
        yield warning
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        yield f"the email folder {folder} cannot be written: correct modhub.mail_dir or its rights"
    if not is_loopback(settings["modhub.base_url"]):
        yield f"without mail.host nobody gets the emails, which are written to {folder}: set mail.host"


def _find_outbox_problems(session: Session) -> Iterator[str]:
    time = now()
    is_waiting = OutgoingEmail.finished_at.is_(None) & (OutgoingEmail.created_at < time - LONG_WAIT)
    is_dead = OutgoingEmail.problem.is_not(None) & (OutgoingEmail.finished_at > time - RECENT)
    counts = select(func.count().filter(is_waiting), func.count().filter(is_dead)).select_from(OutgoingEmail)
    try:
        waiting, dead = session.execute(counts).one()
    except SQLAlchemyError:
        return  # the check of the database says why
    if waiting:
        yield f"{waiting} emails wait for more than an hour: modhub-admin letters list says why"
    if dead:
        yield f"{dead} emails could not be sent in the last {RECENT.days} days: modhub-admin letters list says why"


ALARM: Final = "alarm"
"""The kind of these emails."""
_ALARM_EXAMPLES: Final = """\
alarm modhub-backup              tells mail.operator that this unit has failed
alarm modhub-backup --dry-run    says to whom it would be sent"""


def send_alarm(admin: Any, arguments: argparse.Namespace) -> int:
    """Send the email at once, without the database, which may be what has failed; into the outbox if that fails."""
    recipient = parseaddr(admin.registry.settings["mail.operator"])[1]
    if not recipient:
        admin.say_problem("Nobody is told: mail.operator is empty.")
        return 0
    if arguments.dry_run:
        admin.say(f"Would be sent to {recipient}.")
        return 0
    row = compose_alarm(admin, arguments.unit, recipient)
    services = admin.find_service(AuthServices)
    message = services.outbox.build_message(row)
    try:
        with services.mail_sender.transport() as deliver:
            deliver(message)
    except (DeliveryUnavailable, DeliveryRefused) as error:
        if not admin.registry.settings["mail.host"]:
            raise StartRefused(f"the email cannot be delivered ({error})") from None
        with admin.writing() as (session, _):
            session.add(row)
        admin.say(f"The email to {recipient} waits in the outbox: {error}.")
        return 0
    admin.say(f"Sent to {recipient}.")
    return 0


def compose_alarm(admin: Any, unit: str, recipient: str) -> OutgoingEmail:
    """The row of the email. In English: operators read English logs."""
    outbox, host = admin.find_service(AuthServices).outbox, socket.gethostname()
    lines = (
        f"The unit {unit} failed on {host}.",
        f"Why: journalctl --unit {unit} --lines 50",
        "All together: modhub-admin doctor",
    )
    email = outbox.compose("en", f"{unit} failed on {host}", [EmailEntry(lines=lines)])
    row: OutgoingEmail = outbox.encrypted_row(ALARM, recipient, email)
    return row


def alarm_arguments(parser: argparse.ArgumentParser) -> None:
    """``UNIT``"""
    parser.add_argument("unit", metavar="UNIT", help="the unit of systemd that has failed")
    add_dry_run_option(parser, "say to whom it would be sent")


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


def retry_emails(admin: Any, arguments: argparse.Namespace) -> int:
    """Let dead and held emails be sent again: all, or those with these numbers.

    ``--dead`` is for every night: an address that does not exist is neither tried nor kept without end.
    """
    numbers, dry_run = arguments.number, arguments.dry_run
    is_unsent: list[ColumnElement[bool]] = [OutgoingEmail.finished_at.is_not(None), OutgoingEmail.problem.is_not(None)]
    if arguments.dead:
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
        return retry_emails(admin, arguments)
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
    """Register the commands."""
    config.add_command(
        AdminCommand("letters", "the emails in the outbox", email_arguments, run_emails, examples=_EXAMPLES)
    )
    config.add_command(
        AdminCommand(
            "alarm",
            "tell the operator by email that a unit of systemd has failed",
            alarm_arguments,
            send_alarm,
            needs_schema=False,
            examples=_ALARM_EXAMPLES,
        )
    )
