"""Plans in memory, valid until something changes that everybody can see (docs/adr/024-response-cache.md).

Whoever installs a mod as their first asks the same question as all others who do.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock


class PlanCache:
    """The encoded answers of one application, at most ``budget`` bytes; the least recently used is evicted first."""

    def __init__(self, read_generation: Callable[[], Hashable], budget: int) -> None:
        self._read_generation = read_generation
        self._budget = self._free = budget
        self._generation: Hashable = None
        self._answers: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = Lock()

    def get_or_make(self, question: bytes, make: Callable[[], bytes]) -> bytes:
        """Return the answer to ``question``, from memory if nothing has changed since it was made."""
        if not self._budget:
            return make()
        # Read before the content: an answer that is newer than its generation is only made again too early.
        generation, key = self._read_generation(), hashlib.sha256(question).digest()
        with self._lock:
            if generation != self._generation:
                self._answers.clear()
                self._generation, self._free = generation, self._budget
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
                return answer
        answer = make()
        self._store(generation, key, answer)
        return answer

    def _store(self, generation: Hashable, key: bytes, answer: bytes) -> None:
        with self._lock:
            if generation != self._generation or key in self._answers or len(answer) > self._budget:
                return
            self._answers[key] = answer
            self._free -= len(answer)
            while self._free < 0:
                _, evicted = self._answers.popitem(last=False)
                self._free += len(evicted)
