"""``modhub-admin doctor``: whether emails can be sent, and whether they are."""

import os
import smtplib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.base.settings import is_loopback
from modhub.db import Databases, now
from modhub_auth.mail.transports import connect
from modhub_auth.models import OutgoingEmail

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
