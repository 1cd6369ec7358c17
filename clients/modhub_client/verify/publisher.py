"""The machine key of the part ``publish``: what a run publishes with it, and its removal."""

import secrets
import time
from collections.abc import Callable
from typing import Any, Final

from modhub_client.outcome import WrongUse
from modhub_client.verify import owner
from modhub_client.verify.outcomes import Broken, LeftBehind, Skipped, Unreachable
from modhub_client.verify.owner import CLEANING_PAUSE, MARK
from modhub_client.verify.replies import Reply
from modhub_client.verify.run import Run
from modhub_client.verify.service import VerifiedService

PLATFORM: Final = MARK
"""The platform of the builds that may leave traces: nobody else's."""


class RunPublisher:
    """The key at work. ``page`` is the path of the run's wiki page."""

    def __init__(self, run: Run) -> None:
        self.service = run.service
        self.key = run.credentials.machine_key
        self.nonce = secrets.token_hex(5)
        self.page = f"{MARK}-{self.nonce}"
        self.made: set[str] = set()
        """The paths of wiki pages that this run has published and not removed."""
        self.section = ""
        """The section of the app changelog that this run publishes; empty once it is taken back."""
        run.undo_later(self.leave)

    def call(self, method: str, path: str, value: Any = None, **options: Any) -> Reply:
        """A call with the key; ``value`` is sent as JSON."""
        headers = {"X-Api-Key": self.key, **options.pop("headers", {})}
        return self.service.call(method, path, value, headers=headers, **options)

    def publish_page(self, path: str, text: bytes, query: str = "", method: str = "PUT", prefix: str = "") -> Reply:
        """Publish a wiki page; it is removed at the end."""
        self.made.add(path)
        address = f"{prefix or '/Modhub/api/wiki'}/{path}{query}"
        return self.call(method, address, body=text, headers={"Content-Type": "text/markdown"}, repeatable=True)

    def remove_page(self, path: str) -> Reply:
        """Remove a wiki page."""
        reply = self.call("DELETE", f"/Modhub/api/wiki/{path}")
        if reply.status in {204, 404}:
            self.made.discard(path)
        return reply

    def pop_section(self) -> Reply:
        """Take the run's section back; `Skipped` unless it is on top, as the call takes the newest one."""
        changelog = str(self.service.read("/api/modhub/app")["changelog"])
        if not changelog.startswith(self.section):
            if self.section not in changelog:
                self.section = ""
            raise Skipped("another section is on top of the run's own")
        reply = self.call("DELETE", "/api/modhub/app/changelog", repeatable=False)
        if reply.status == 200:
            self.section = ""
        return reply

    def leave(self) -> None:
        """Remove what the run has published, builds apart. `LeftBehind` if something remains."""
        # A service of its own: the run's one takes no more calls once it is interrupted.
        self.service.close()
        with VerifiedService(self.service.url) as service:
            self.service = service
            for path in sorted(self.made):
                self._try(self.remove_page, path)
            if self.section:
                self._try(self.pop_section)
        left = [f"the wiki page {path}" for path in sorted(self.made)]
        left += [f"a section of the app changelog that begins with {self.section[:40]!r}"] if self.section else []
        if left:
            raise LeftBehind(f"These could not be removed: {', '.join(left)}. Remove them by hand.")

    def _try(self, step: Callable[..., object], *arguments: str) -> None:
        """Call a step until it ends well, or for a while; what is left says whether it did."""
        deadline, wait = time.monotonic() + owner.CLEANING_SECONDS, CLEANING_PAUSE
        while True:
            try:
                step(*arguments)
            except Skipped:
                return
            except (Broken, Unreachable):
                if time.monotonic() + wait > deadline:
                    return
                time.sleep(wait)
                wait *= 2
            else:
                return


def publisher_of(run: Run) -> RunPublisher:
    """The key of this run; `Skipped` if none was given."""
    if not run.credentials.machine_key:
        raise Skipped("no machine key was given")
    if "publisher" not in run.notes:
        run.notes["publisher"] = RunPublisher(run)
    publisher: RunPublisher = run.notes["publisher"]
    return publisher


def require_key(run: Run) -> None:
    """`WrongUse` if the service refuses the key, as `owner.require_account`."""
    reply = publisher_of(run).call("GET", "/api/modhub/key")
    if reply.status != 200:
        raise WrongUse(f"The service refuses the machine key ({reply.status} {reply.error}).")
