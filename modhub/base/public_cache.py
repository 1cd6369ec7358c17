"""Values made from what everybody can see, kept in memory until that changes (ADR 024)."""

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

from modhub.base.byte_cache import ByteCache

_Kept = TypeVar("_Kept")
_MAX_SHARE: Final = 8
"""A value larger than the budget divided by this is not kept."""


class PublicCache:
    """The kept values of one application by question, at most ``budget`` bytes; 0: nothing is kept.

    ``read_stamp`` returns what is equal as long as everybody sees the same (`ChangeReader.stamp`).
    A question names its subject first, so that two packages never ask the same: ``("plan", digest)``.
    """

    def __init__(self, read_stamp: Callable[[], Hashable], budget: int) -> None:
        self.read_stamp = read_stamp
        self.values: ByteCache[Any] = ByteCache(budget, _MAX_SHARE)

    @property
    def is_on(self) -> bool:
        """Whether anything is kept."""
        return self.values.budget > 0

    def get_or_make(self, question: Hashable, make: Callable[[], _Kept], size_of: Callable[[_Kept], int]) -> _Kept:
        """Return the value kept for ``question``, or make it and keep it; one statement if it was kept.

        ``size_of`` returns about how many bytes it takes. All callers share the value, so nobody may change it.
        """
        if not self.is_on:
            return make()
        # Read before the content: a value that is newer than its stamp is only made again too early.
        stamp = self.read_stamp()
        value: _Kept | None = self.values.find(question, stamp)
        if value is None:
            value = make()
            self.values.put(question, value, size_of(value), stamp)
        return value
