"""The cache of responses: within its bytes, nothing stale, the least recently used leave first."""

import random
from concurrent.futures import ThreadPoolExecutor

from modhub.web.public_reads import KeptResponse, ResponseCache


class Cache(ResponseCache):
    """A cache of responses with short names."""

    def __init__(self, budget):
        super().__init__(lambda: 1, budget)

    def has(self, name):
        return ("", name, "", False) in self

    def tag(self, name, stamp=1):
        found = self.find(("", name, "", False), stamp)
        return found and found.etag

    def keep(self, name, size, stamp=1):
        self.put(("", name, "", False), KeptResponse([], [], f"{name}{stamp}", b"", object), size, stamp)


def test_the_least_recently_used_are_evicted():
    cache = Cache(80)
    cache.keep("large", 11)
    for name in "abcdefgh":
        cache.keep(name, 10)
    assert cache.tag("a") == "a1"
    cache.keep("i", 5)
    assert [cache.has(name) for name in ("large", *"abci")] == [False, True, False, True, True]
    assert cache.used == 75
    cache.keep("a", 4, 2)
    assert (cache.tag("a"), cache.used) == (None, 69), "the replaced one is not counted"


def test_the_bytes_are_right_after_concurrent_use():
    cache = Cache(1_000)

    def use(seed):
        chance = random.Random(seed)
        for _ in range(2_000):
            number = chance.randrange(50)
            if cache.tag(f"{number}") is None:
                cache.keep(f"{number}", 10 + number)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(use, range(4)))
    assert cache.used == sum(10 + number for number in range(50) if cache.has(f"{number}")) <= 1_000
