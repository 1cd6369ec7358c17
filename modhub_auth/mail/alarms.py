"""``modhub-admin alarm UNIT``: an email to the operator, started by systemd when a unit has failed (C-RUN-50)."""

import argparse
import socket
from email.utils import parseaddr
from typing import Any, Final

from pyramid.config import Configurator

from modhub.base.settings import StartRefused
from modhub.plugins.commands import AdminCommand, add_dry_run_option
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import EmailEntry
from modhub_auth.mail.transports import DeliveryRefused, DeliveryUnavailable
from modhub_auth.models import OutgoingEmail

ALARM: Final = "alarm"
"""The kind of these emails."""
_EXAMPLES: Final = """\
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
    message = services.outbox.build_message(row.sealed, recipient, row.message_id, row.created_at)
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


def includeme(config: Configurator) -> None:
    """Register the command."""
    config.add_command(
        AdminCommand(
            "alarm",
            "tell the operator by email that a unit of systemd has failed",
            alarm_arguments,
            send_alarm,
            needs_schema=False,
            examples=_EXAMPLES,
        )
    )
