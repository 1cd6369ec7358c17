"""Which request bodies the server reads, and how much of them: one table, filled by the features at the start.

The server looks a request up at the end of its head, before it reads a byte of the body (C-ERR-19, T-D3).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

DEFAULT_LIMIT = 8 * 1024 * 1024
"""Bytes of a body that no rule names: the limit of JSON bodies (C-ERR-10)."""
NOT_FORWARDED: Final = "modhub.not_forwarded"
"""The environ key that says whether a request came without any forwarding header, of a trusted proxy or not."""
IS_LARGE_TURN: Final = "modhub.is_large_turn"
"""The environ key that says whether the request runs in the thread of large responses. If not, a view that finds its
response to be large raises :class:`modhub.base.errors.RunAgain`, and runs again there."""
ASKED_ABOVE_BYTES = 256 * 1024
"""The application is asked before a body that may be larger than this is read (bytes)."""


@dataclass(frozen=True, slots=True)
class BodyRule:
    """What the server may do with a body before the application sees it.

    ``limit``: most bytes to read. ``credential``: the request header (``Authorization`` or ``X-Api-Key``) without which
    the application rejects the request whatever the body, so that the body is not read; None if there is no such
    header. ``waits``: the request may wait for its turn, so it gets a thread of a separate pool.
    """

    limit: int
    credential: str | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    methods: frozenset[str]
    segments: tuple[str | None, ...]
    open_end: bool
    rule: BodyRule

    def matches(self, method: str, segments: list[str]) -> bool:
        count = len(self.segments)
        if method not in self.methods or len(segments) < count or (len(segments) > count and not self.open_end):
            return False
        return all(name is None or name == segment for name, segment in zip(self.segments, segments, strict=False))

    def weight(self) -> tuple[int, tuple[bool, ...], bool]:
        literal = tuple(segment is not None for segment in self.segments)
        return sum(literal), literal, not self.open_end


class BodyRules:
    """The service that the server asks; read-only once the server runs, so it needs no lock."""

    error_headers: tuple[tuple[str, str], ...] = ()
    """(name, value) pairs that the server's own responses carry besides the fixed ones."""
    server: Any = None
    """The running :class:`modhub.server.loop.Server`, for metrics; None on any other server."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []

    def add(
        self,
        methods: Iterable[str],
        pattern: str,
        limit: int,
        credential: str | None = None,
        *,
        waits: bool = False,
    ) -> None:
        """Add a rule for ``methods`` at ``pattern``: ``/api/modhub/{id}/code``.

        ``{x}`` stands for one segment, ``{x...}`` (at the end only) for all remaining ones, possibly none. Of several
        that match, the one with most literal segments wins, then the one whose literal segments come first (as
        traversal finds them), then the longer, then the closed one, then the first added. Raises ValueError for an
        invalid pattern or limit.
        """
        names = _segments(pattern)
        open_end = bool(names) and _is_variable(names[-1]) and names[-1].endswith("...}")
        if open_end:
            names.pop()
        if limit < 0 or not pattern.startswith("/") or any(name.endswith("...}") for name in names):
            raise ValueError(f"body rule {pattern!r}: the limit, the leading slash or the position of '...' is wrong")
        segments = tuple(None if _is_variable(name) else name for name in names)
        rule = BodyRule(limit, credential, waits)
        self._entries.append(_Entry(frozenset(methods), segments, open_end, rule))
        self._entries.sort(key=_Entry.weight, reverse=True)

    def find(self, method: str, path: str) -> BodyRule | None:
        """The rule for a request; ``path`` is percent-decoded. None means the default limit and no credential.

        Empty segments are skipped, and dots are names, as in traversal.
        """
        segments = _segments(path)
        return next((entry.rule for entry in self._entries if entry.matches(method, segments)), None)


def _is_variable(segment: str) -> bool:
    return segment.startswith("{") and segment.endswith("}")


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]
