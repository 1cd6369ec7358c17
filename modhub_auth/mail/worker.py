"""The sender: takes letters from the outbox, each for one process, and tries again with growing pauses."""

import atexit
import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Update, delete, select, update
from sqlalchemy.orm import Session

from modhub import bulk
from modhub.db import Databases, now
from modhub_auth.mail.outbox import Outbox
from modhub_auth.mail.transports import ConnectionLost, DeliveryRefused, MailTransport, Transport, Unreachable
from modhub_auth.models import OutgoingEmail

log = logging.getLogger(__name__)
LEASE: Final = timedelta(minutes=5)
"""A letter that a process has taken is nobody else's for so long; after that the process counts as dead."""
SHORTEST_PAUSE: Final = timedelta(seconds=10)
LONGEST_PAUSE: Final = timedelta(hours=2)
DEAD_AFTER: Final = timedelta(days=3)
SENT_RETENTION: Final = timedelta(days=30)
POLL_SECONDS: Final = 2.0
LONGEST_POLL_SECONDS: Final = 30.0
TIDY_SECONDS: Final = 600.0
SEND_BATCH: Final = 100


def retry_pause(attempts: int) -> timedelta:
    """How long a letter waits after so many attempts."""
    growing: timedelta = SHORTEST_PAUSE * (1 << min(attempts - 1, 20))
    return min(growing, LONGEST_PAUSE)


class MailWorker:
    """Sends what is due; in a thread of the server, or by ``modhub-admin letters send``."""

    def __init__(
        self,
        databases: Databases,
        writer: Outbox,
        post: MailTransport,
        write_waiting: Callable[[], None],
        tidy: Callable[[Session], None],
    ) -> None:
        """``write_waiting`` queues the letters that were left to be written here; ``tidy`` forgets what has ended."""
        self.databases = databases
        self.writer = writer
        self.post = post
        self.write_waiting = write_waiting
        self.tidy = tidy
        self._unsaid: dict[int, dict[str, datetime | str | None]] = {}
        """What became of letters that the database could not be told: it is told before any other leaves."""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def send_due(self) -> int:
        """Send what is due, each letter once; the number sent. :class:`Unreachable` when nothing can be sent."""
        self.write_waiting()
        self._say()
        due = self._due()
        if not due:
            return 0
        sent = 0
        with self.post() as deliver:
            for letter in due:
                if self._take(letter):
                    sent += self._send(letter, deliver)
        return sent

    def _due(self) -> list[OutgoingEmail]:
        time = now()
        # A letter that nobody has tried is due, and none waits longer than the longest pause: else a clock that was
        # set back would hold them up (T-F7).
        due = (
            (OutgoingEmail.next_at <= time)
            | (OutgoingEmail.attempts == 0)
            | (OutgoingEmail.next_at > time + LONGEST_PAUSE)
        )
        waiting = select(OutgoingEmail).where(OutgoingEmail.finished_at.is_(None), due)
        with self.databases.readonly_session() as session:
            return list(
                session.scalars(waiting.order_by(OutgoingEmail.next_at, OutgoingEmail.id).limit(SEND_BATCH)).all()
            )

    def _take(self, letter: OutgoingEmail) -> bool:
        """Lease the letter; False when another process has been quicker."""
        same = (
            OutgoingEmail.id == letter.id,
            OutgoingEmail.finished_at.is_(None),
            OutgoingEmail.next_at == letter.next_at,
        )
        taken = {"next_at": now() + LEASE, "attempts": OutgoingEmail.attempts + 1}
        return self._update(update(OutgoingEmail).where(*same).values(taken))

    def _update(self, statement: Update) -> bool:
        with self.databases.write_session.begin() as session:
            return bulk.execute_bulk(session, statement) == 1

    def _send(self, letter: OutgoingEmail, deliver: Transport) -> bool:
        try:
            message = self.writer.message(letter.sealed or "", letter.recipient, letter.message_id, letter.created_at)
            if message is None:
                raise DeliveryRefused("its secret is no longer configured", for_ever=True)
            deliver(message)
        except ValueError:
            self._failed(letter, "it cannot be written", for_ever=False)
            return False
        except DeliveryRefused as refusal:
            self._failed(letter, str(refusal), for_ever=refusal.for_ever)
            return False
        except ConnectionLost as problem:
            # Perhaps it is this letter that the server cannot bear: the others go first from now on.
            self._failed(letter, str(problem), for_ever=False)
            raise
        except Unreachable as problem:
            # The letter is not to blame: it is due again as soon as there is a way.
            self._finish(letter, next_at=min(letter.next_at, now()), problem=str(problem))
            raise
        self._finish(letter, finished_at=now(), sealed=None, problem=None)
        log.info("letter %d (%s) sent", letter.id, letter.kind)
        return True

    def _failed(self, letter: OutgoingEmail, problem: str, *, for_ever: bool) -> None:
        time = now()
        if for_ever or time - letter.created_at > DEAD_AFTER:
            log.warning("letter %d (%s) is dead: %s", letter.id, letter.kind, problem)
            self._finish(letter, finished_at=time, sealed=None, problem=problem)
        else:
            self._finish(letter, next_at=time + retry_pause(letter.attempts + 1), problem=problem)

    def _finish(self, letter: OutgoingEmail, **values: datetime | str | None) -> None:
        self._unsaid[letter.id] = values
        self._say()

    def _say(self) -> None:
        """Write down what became of letters; while that cannot be, no other is sent, so that none goes twice."""
        for letter_id, values in list(self._unsaid.items()):
            self._update(update(OutgoingEmail).where(OutgoingEmail.id == letter_id).values(values))
            self._unsaid.pop(letter_id, None)

    def start(self) -> None:
        """Send in a thread of this process from now on."""
        self._thread = threading.Thread(target=self._run, name="modhub letters", daemon=True)
        self._thread.start()
        # At the end of the process the letter at hand is finished, not cut off and sent again later.
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the thread, after the letter that it is at."""
        atexit.unregister(self.stop)
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        wait, untidy = POLL_SECONDS, 0.0
        while not self._stop.wait(wait):
            untidy -= wait
            wait = self._round(wait, tidy=untidy <= 0)
            if untidy <= 0:
                untidy = TIDY_SECONDS

    def _round(self, wait: float, *, tidy: bool) -> float:
        """Send, and answer how long to wait before the next round: longer and longer while nothing can be sent."""
        try:
            if tidy:
                with self.databases.write_session.begin() as session:
                    self.tidy(session)
                    session.execute(delete(OutgoingEmail).where(OutgoingEmail.finished_at <= now() - SENT_RETENTION))
            self.send_due()
        except Unreachable as problem:
            log.warning("letters wait: %s", problem)
        except Exception as problem:  # noqa: BLE001 - whatever it was, the thread goes on
            log.warning("letters wait: %s", type(problem).__name__)
        else:
            return POLL_SECONDS
        return min(wait * 2, LONGEST_POLL_SECONDS)
