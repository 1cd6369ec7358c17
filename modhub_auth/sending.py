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
from modhub_auth.letters import Writer
from modhub_auth.models import Letter
from modhub_auth.post import Deliver, HungUp, Post, Refused, Unreachable

log = logging.getLogger(__name__)
LEASE: Final = timedelta(minutes=5)
"""A letter that a process has taken is nobody else's for so long; after that the process counts as dead."""
SHORTEST_PAUSE: Final = timedelta(seconds=10)
LONGEST_PAUSE: Final = timedelta(hours=2)
DEAD_AFTER: Final = timedelta(days=3)
REMEMBERED: Final = timedelta(days=30)
POLL_SECONDS: Final = 2.0
LONGEST_POLL_SECONDS: Final = 30.0
TIDY_SECONDS: Final = 600.0
AT_ONCE: Final = 100


def pause(attempts: int) -> timedelta:
    """How long a letter waits after so many attempts."""
    growing: timedelta = SHORTEST_PAUSE * (1 << min(attempts - 1, 20))
    return min(growing, LONGEST_PAUSE)


class Sender:
    """Sends what is due; in a thread of the server, or by ``modhub-admin letters send``."""

    def __init__(
        self,
        databases: Databases,
        writer: Writer,
        post: Post,
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

    def _due(self) -> list[Letter]:
        time = now()
        # A letter that nobody has tried is due, and none waits longer than the longest pause: else a clock that was
        # set back would hold them up (threats F-7).
        due = (Letter.next_at <= time) | (Letter.attempts == 0) | (Letter.next_at > time + LONGEST_PAUSE)
        waiting = select(Letter).where(Letter.finished_at.is_(None), due)
        with self.databases.reading() as session:
            return list(session.scalars(waiting.order_by(Letter.next_at, Letter.id).limit(AT_ONCE)).all())

    def _take(self, letter: Letter) -> bool:
        """Lease the letter; False when another process has been quicker."""
        same = (Letter.id == letter.id, Letter.finished_at.is_(None), Letter.next_at == letter.next_at)
        taken = {"next_at": now() + LEASE, "attempts": Letter.attempts + 1}
        return self._update(update(Letter).where(*same).values(taken))

    def _update(self, statement: Update) -> bool:
        with self.databases.writing.begin() as session:
            return bulk.run(session, statement) == 1

    def _send(self, letter: Letter, deliver: Deliver) -> bool:
        try:
            message = self.writer.message(letter.sealed or "", letter.recipient, letter.message_id, letter.created_at)
            if message is None:
                raise Refused("its secret is no longer configured", for_ever=True)
            deliver(message)
        except ValueError:
            self._failed(letter, "it cannot be written", for_ever=False)
            return False
        except Refused as refusal:
            self._failed(letter, str(refusal), for_ever=refusal.for_ever)
            return False
        except HungUp as problem:
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

    def _failed(self, letter: Letter, problem: str, *, for_ever: bool) -> None:
        time = now()
        if for_ever or time - letter.created_at > DEAD_AFTER:
            log.warning("letter %d (%s) is dead: %s", letter.id, letter.kind, problem)
            self._finish(letter, finished_at=time, sealed=None, problem=problem)
        else:
            self._finish(letter, next_at=time + pause(letter.attempts + 1), problem=problem)

    def _finish(self, letter: Letter, **values: datetime | str | None) -> None:
        self._unsaid[letter.id] = values
        self._say()

    def _say(self) -> None:
        """Write down what became of letters; while that cannot be, no other is sent, so that none goes twice."""
        for letter_id, values in list(self._unsaid.items()):
            self._update(update(Letter).where(Letter.id == letter_id).values(values))
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
                with self.databases.writing.begin() as session:
                    self.tidy(session)
                    session.execute(delete(Letter).where(Letter.finished_at <= now() - REMEMBERED))
            self.send_due()
        except Unreachable as problem:
            log.warning("letters wait: %s", problem)
        except Exception as problem:  # noqa: BLE001 - whatever it was, the thread goes on
            log.warning("letters wait: %s", type(problem).__name__)
        else:
            return POLL_SECONDS
        return min(wait * 2, LONGEST_POLL_SECONDS)
