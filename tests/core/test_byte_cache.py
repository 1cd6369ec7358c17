"""The cache that all kept values share: within its bytes, nothing stale, the least recently used leave first."""

import random
import threading

from modhub.base.byte_cache import ByteCache


def test_a_value_is_found_with_the_stamp_that_it_was_put_with() -> None:
    cache = ByteCache[str](100)
    cache.put("a", "old", 10, stamp=1)
    assert [cache.find("a", 1), cache.find("a", 2), cache.find("a"), cache.find("b", 1)] == ["old", None, None, None]
    cache.put("a", "new", 20, stamp=2)
    assert [cache.find("a", 1), cache.find("a", 2)] == [None, "new"]
    assert (cache.used, len(cache)) == (20, 1)  # the replaced value is not counted


def test_the_least_recently_used_are_evicted() -> None:
    cache = ByteCache[str](30)
    for key in "abc":
        cache.put(key, key, 10)
    assert cache.find("a") == "a"
    cache.put("d", "d", 15)
    assert [key in cache for key in "abcd"] == [True, False, False, True]
    assert cache.used == 25


def test_a_large_value_is_not_kept_and_evicts_nothing() -> None:
    cache = ByteCache[str](100, max_share=4)
    cache.put("a", "a", 25)
    cache.put("b", "b", 26)
    assert [cache.find("a"), cache.find("b")] == ["a", None]
    nothing = ByteCache[str](0)
    nothing.put("a", "a", 1)
    assert "a" not in nothing


def test_the_bytes_are_right_after_concurrent_use() -> None:
    cache = ByteCache[int](1_000)

    def use(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(2_000):
            key = chance.randrange(50)
            if cache.find(key) is None:
                cache.put(key, key, 10 + key)

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.used == sum(10 + key for key in range(50) if key in cache) <= 1_000
