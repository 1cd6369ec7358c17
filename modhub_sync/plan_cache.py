"""Plans in memory, valid until something changes that everybody can see (docs/adr/024-response-cache.md).

Everyone who installs a mod as their first asks the same question.
"""

import hashlib
from collections.abc import Callable, Hashable
from typing import Final

from modhub.byte_cache import ByteCache

PLAN_OVERHEAD: Final = 400
"""Approximate bytes of an entry besides its answer."""


class PlanCache:
    """The encoded answers of one application, at most ``budget`` bytes."""

    def __init__(self, read_generation: Callable[[], Hashable], budget: int) -> None:
        self._read_generation = read_generation
        self.answers: ByteCache[bytes] = ByteCache(budget)

    def get_or_make(self, question: bytes, make: Callable[[], bytes]) -> bytes:
        """Return the answer to ``question``, from memory if nothing has changed since it was made."""
        if not self.answers.budget:
            return make()
        # Read before the content: an answer that is newer than its generation is only made again too early.
        generation, key = self._read_generation(), hashlib.sha256(question).digest()
        answer = self.answers.find(key, generation)
        if answer is None:
            answer = make()
            self.answers.put(key, answer, len(answer) + PLAN_OVERHEAD, generation)
        return answer
