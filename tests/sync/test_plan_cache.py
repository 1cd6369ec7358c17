"""Kept plans: within their bytes, never older than the generation."""

from modhub_sync.plan_cache import PLAN_OVERHEAD, PlanCache


class Source:
    """Counts how often an answer is made."""

    def __init__(self) -> None:
        self.generation = 1
        self.made: list[bytes] = []

    def ask(self, cache: PlanCache, question: bytes, size: int = 10) -> bytes:
        def make() -> bytes:
            self.made.append(question)
            return question.ljust(size, b".")

        return cache.get_or_make(question, make)


def make_cache(budget: int) -> tuple[Source, PlanCache]:
    source = Source()
    return source, PlanCache(lambda: source.generation, budget)


def test_the_same_question_is_answered_once() -> None:
    source, cache = make_cache(1_000)
    assert [source.ask(cache, b"a"), source.ask(cache, b"a"), source.ask(cache, b"b")] == [
        b"a.........",
        b"a.........",
        b"b.........",
    ]
    assert source.made == [b"a", b"b"]


def test_another_generation_is_another_answer() -> None:
    source, cache = make_cache(1_000)
    source.ask(cache, b"a")
    source.generation = 2
    for question in (b"a", b"b", b"a", b"b"):
        source.ask(cache, question)
    assert source.made == [b"a", b"a", b"b"]


def test_an_answer_from_before_a_change_is_not_kept() -> None:
    source, cache = make_cache(1_000)

    def make() -> bytes:
        source.generation = 2
        source.ask(cache, b"other")
        return b"old"

    assert cache.get_or_make(b"a", make) == b"old"
    assert source.ask(cache, b"a") == b"a........."


def test_the_least_recently_used_are_evicted() -> None:
    source, cache = make_cache(2 * (10 + PLAN_OVERHEAD) + 5)
    for question in (b"a", b"b", b"a", b"c", b"a", b"b"):
        source.ask(cache, question)
    assert source.made == [b"a", b"b", b"c", b"b"]


def test_a_budget_of_nothing_keeps_nothing() -> None:
    source, cache = make_cache(0)
    source.ask(cache, b"a")
    source.ask(cache, b"a")
    assert source.made == [b"a", b"a"]
