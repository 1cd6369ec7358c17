"""A cache in memory that is bounded by bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")


class _Entry(NamedTuple, Generic[Value]):
    value: Value
    size: int
    stamp: Hashable


class ByteCache(Generic[Value]):
    """Values by key, at most ``budget`` bytes; the least recently used are evicted first. For any thread.

    A value that is larger than the budget divided by ``max_share`` is not kept: it would evict all others.
    """

    def __init__(self, budget: int, max_share: int = 1) -> None:
        self.budget = self._free = budget
        self._max_entry = budget // max_share
        self._entries: OrderedDict[Hashable, _Entry[Value]] = OrderedDict()
        self._lock = Lock()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def used(self) -> int:
        """Bytes of all entries."""
        return self.budget - self._free

    def find(self, key: Hashable, stamp: Hashable = None) -> Value | None:
        """Return the value if it was put with the same ``stamp``, None if there is none."""
        entry = self._entries.get(key)
        if entry is None or entry.stamp != stamp:
            return None
        with self._lock:
            if key in self._entries:  # not evicted in the meantime
                self._entries.move_to_end(key)
        return entry.value

    def put(self, key: Hashable, value: Value, size: int, stamp: Hashable = None) -> None:
        """Keep a value that was not found; it replaces another of the same key.

        ``size`` is what the entry takes, in bytes, with its key. ``stamp`` says what the value was made from: to be
        read before that, so that a value which a change overtakes is not found afterwards.
        """
        with self._lock:
            if size > self._max_entry:
                return
            replaced = self._entries.pop(key, None)
            self._free -= size - (0 if replaced is None else replaced.size)
            self._entries[key] = _Entry(value, size, stamp)
            while self._free < 0:
                self._free += self._entries.popitem(last=False)[1].size
