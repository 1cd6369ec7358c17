"""Sending emails from the outbox. A lease gives each to one process; failures retry with back-off."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import Counter
from sqlalchemy import ColumnElement, Update, delete, select, update
from sqlalchemy.orm import Session

from modhub.db import Databases, bulk, now
from modhub_auth.mail.outbox import DIGEST, Outbox
from modhub_auth.mail.transports import ConnectionLost, DeliveryRefused, DeliveryUnavailable, MailTransport, Transport
from modhub_auth.models import OutgoingEmail

log = logging.getLogger(__name__)
DEAD: Final = Counter("modhub_emails_dead", "Emails given up by this process")
LEASE_TIME: Final = timedelta(minutes=5)
"""How long a leased email belongs to one process; after that the process counts as dead."""
SHORTEST_PAUSE: Final = timedelta(seconds=10)
LONGEST_PAUSE: Final = timedelta(hours=2)
DEAD_AFTER: Final = timedelta(days=3)
SENT_RETENTION: Final = timedelta(days=30)
FAREWELL: Final = "account deleted"
ADDRESS_CHANGED: Final = "email changed"
LAST_EMAILS: Final = frozenset({FAREWELL, ADDRESS_CHANGED})
"""The kinds of the last email to an address of an account: once it is sent, its address is forgotten."""
SEND_SECONDS: Final = 2.0
EXPIRY_SECONDS: Final = 600.0
SEND_BATCH: Final = 100
DIGEST_BATCH: Final = 10


def retry_pause(attempts: int) -> timedelta:
    """How long an email waits after this many attempts."""
    pause: timedelta = SHORTEST_PAUSE * (1 << min(attempts - 1, 20))
    return min(pause, LONGEST_PAUSE)


def is_due(time: datetime) -> ColumnElement[bool]:
    """Which waiting emails are due.

    One that was never tried is, and none waits longer than the longest pause: otherwise setting the clock back would
    hold them up (T-F7).
    """
    return (
        (OutgoingEmail.next_at <= time) | (OutgoingEmail.attempts == 0) | (OutgoingEmail.next_at > time + LONGEST_PAUSE)
    )


class MailSender:
    """Sends due emails; for the worker."""

    def __init__(self, databases: Databases, outbox: Outbox, transport: MailTransport) -> None:
        self.databases = databases
        self.outbox = outbox
        self.transport = transport
        self._unrecorded: dict[int, dict[str, datetime | str | None]] = {}
        """Results that could not be written to the database yet. They are written before another email is sent."""

    def send_due(self, is_over: Callable[[], bool] = bool) -> int:
        """Send each due email once and return the number sent. :class:`DeliveryUnavailable` when none can be.

        The current email is the last one when ``is_over()``: one that is cut off would be sent again later.
        """
        self._write_results()
        emails = self._due_emails()
        if not emails:
            return 0
        sent_count = 0
        with self.transport() as deliver:
            for email in emails:
                if is_over():
                    break
                if self._lease(email):
                    sent_count += self._send(email, deliver)
        return sent_count

    def _due_emails(self) -> list[OutgoingEmail]:
        waiting = select(OutgoingEmail).where(OutgoingEmail.finished_at.is_(None), is_due(now()))
        # Digests come last, and a few at a time: somebody may be waiting for a link.
        order = (OutgoingEmail.kind == DIGEST, OutgoingEmail.next_at, OutgoingEmail.id)
        with self.databases.readonly_session() as session:
            emails = session.scalars(waiting.order_by(*order).limit(SEND_BATCH)).all()
        return [email for email in emails if email.kind != DIGEST] or list(emails[:DIGEST_BATCH])

    def _lease(self, email: OutgoingEmail) -> bool:
        """Lease the email; False when another process was faster."""
        unchanged = (
            OutgoingEmail.id == email.id,
            OutgoingEmail.finished_at.is_(None),
            OutgoingEmail.next_at == email.next_at,
        )
        lease = {"next_at": now() + LEASE_TIME, "attempts": OutgoingEmail.attempts + 1}
        return self._update(update(OutgoingEmail).where(*unchanged).values(lease))

    def _update(self, statement: Update) -> bool:
        with self.databases.write_session.begin() as session:
            return bulk.execute_bulk(session, statement) == 1

    def _send(self, email: OutgoingEmail, deliver: Transport) -> bool:
        try:
            message = self.outbox.build_message(email)
            if message is None:
                raise DeliveryRefused("its secret is no longer configured", permanent=True)
            deliver(message)
        except ValueError:
            self._record_failure(email, "it cannot be written", permanent=False)
            return False
        except DeliveryRefused as error:
            self._record_failure(email, str(error), permanent=error.permanent)
            return False
        except ConnectionLost as error:
            # This email may be what breaks the connection, so the others go first from now on.
            self._record_failure(email, str(error), permanent=False)
            raise
        except DeliveryUnavailable as error:
            # The email is not at fault: it is due again as soon as delivery works.
            self._record(email, next_at=min(email.next_at, now()), problem=str(error))
            raise
        forgotten = {"recipient": ""} if email.kind in LAST_EMAILS else {}
        self._record(email, finished_at=now(), sealed=None, problem=None, **forgotten)
        log.info("email %d (%s) sent", email.id, email.kind)
        return True

    def _record_failure(self, email: OutgoingEmail, reason: str, *, permanent: bool) -> None:
        time = now()
        if permanent or time - email.created_at > DEAD_AFTER:
            DEAD.inc()
            log.warning("email %d (%s) is dead: %s", email.id, email.kind, reason)
            # Its content stays until it is cleaned up: the operator may retry it, if it was the mail server's fault.
            self._record(email, finished_at=time, problem=reason)
        else:
            self._record(email, next_at=time + retry_pause(email.attempts + 1), problem=reason)

    def _record(self, email: OutgoingEmail, **values: datetime | str | None) -> None:
        self._unrecorded[email.id] = values
        self._write_results()

    def _write_results(self) -> None:
        """Write the pending results. Nothing is sent until that succeeds, so that no email is sent twice."""
        for email_id, values in list(self._unrecorded.items()):
            self._update(update(OutgoingEmail).where(OutgoingEmail.id == email_id).values(values))
            self._unrecorded.pop(email_id, None)


def delete_old_emails(session: Session) -> None:
    """Delete emails that were sent or died long ago."""
    session.execute(delete(OutgoingEmail).where(OutgoingEmail.finished_at <= now() - SENT_RETENTION))
