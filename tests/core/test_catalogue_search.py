"""Lists and search compared with a simple model, on both databases."""

import random
from urllib.parse import urlencode

import pytest

from modhub.catalogue.reading.service import CatalogueReader
from modhub.content import limits, text
from modhub.content.folding import fold_game, fold_search, search_words
from modhub_testing.mods import insert_mods

pytestmark = pytest.mark.postgres

LETTERS = "aAbBeEéÉèßſsSøØoOłŁlLđDħıiIİæœþðℌ㎧Ⅷﬁ한가ｶﾞ日本"
SIGNS = "%_\\\"'*()-:^+.,;!?#&=/|~@$ 0129\u0301\u200d😀"
SEED = 20261121


def some_text(rng, most):
    return "".join(rng.choice(LETTERS if rng.random() < 0.75 else SIGNS) for _ in range(rng.randint(1, most)))


def some_mods(rng, count):
    pool = [game for game in (text.line(some_text(rng, 8), limits.GAME) for _ in range(20)) if game]
    pool += ["Portal", "Portal 2", "PORTAL", "Pörtal", "100%", "a_b", "a\\b", 'say "hi"', "it's"]
    mods = []
    for _ in range(count):
        title = text.line(some_text(rng, 24), limits.TITLE) or "untitled"
        games = {fold_game(game): game for game in rng.sample(pool, rng.randint(0, 4))}
        ups = rng.choice([0, 0, 1, 2, 3])
        mods.append({"title": title, "games": list(games.values()), "ups": ups, "downs": rng.choice([0, 1])})
    return mods


class Model:
    """What the list should answer."""

    def __init__(self, mods, ids):
        self.mods = [
            {**mod, "id": mod_id, "at": at, **self.folded(mod)}
            for at, (mod, mod_id) in enumerate(zip(mods, ids, strict=True))
        ]

    def ids(self, q="", game="", sort="new"):
        words = search_words(q)
        folded_game = fold_game(text.line(game, limits.GAME))
        hits = [mod for mod in self.mods if self.matches(mod, words, folded_game)]
        score = (lambda mod: mod["ups"] - mod["downs"]) if sort == "top" else (lambda mod: 0)
        hits.sort(key=lambda mod: (score(mod), mod["at"], mod["id"]), reverse=True)
        return [mod["id"] for mod in hits]

    @staticmethod
    def folded(mod):
        """What is compared, folded once: it takes longer than the search itself."""
        lines = [fold_search(line) for line in (mod["title"], *mod["games"])]
        return {"lines": lines, "folded_games": {fold_game(name) for name in mod["games"]}}

    @staticmethod
    def matches(mod, words, game):
        in_game = not game or game in mod["folded_games"]
        return in_game and all(any(word in line for line in mod["lines"]) for word in words)


def some_query(rng, mods):
    """Words cut out of existing titles and games, as people type them; sometimes folded, sometimes random."""
    words = []
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
        mod = rng.choice(mods)
        source = rng.choice([mod["title"], *mod["games"]])
        start = rng.randrange(len(source))
        word = source[start : start + rng.choice([1, 2, 3, 4, 7, 8, 9, 20])]
        words.append(rng.choice([str, str.upper, str.lower, str.swapcase, fold_search])(word))
    query = {"q": rng.choice([" ", "  ", "\t", "\u3000"]).join(words)}
    if rng.random() < 0.25:
        query["game"] = rng.choice([str, str.upper, lambda name: f"  {name} "])(rng.choice([*mod["games"], "Portal"]))
    if rng.random() < 0.2:
        query["q"] = some_text(rng, 6)
    if rng.random() < 0.4:
        query["sort"] = "top"
    return query


def ask(site, **query):
    return site.get(f"/api/modhub?{urlencode(query)}").json


@pytest.fixture
def filled(site):
    rng = random.Random(SEED)
    mods = some_mods(rng, 200)
    return Model(mods, insert_mods(site, mods)), mods, rng


@pytest.mark.parametrize("plan", [None, (True, True), (True, False), (False, True), (False, False)])
@pytest.mark.slow
def test_hits_and_their_order_are_the_models_by_any_plan(site, filled, monkeypatch, plan):
    # C-LIST-1, C-LIST-2, C-LIST-4, C-LIST-7, C-LIST-8
    queries = 120
    if plan is not None:
        queries, (walks, by_game) = 40, plan
        monkeypatch.setattr(CatalogueReader, "_walks", lambda *_: walks)
        monkeypatch.setattr(CatalogueReader, "_has_game_fewer", lambda *_: by_game)
    model, mods, rng = filled
    for _ in range(queries):
        query = rng.choice([{}, {"sort": "top"}, {"q": "a"}, *(some_query(rng, mods) for _ in range(5))])
        page, size = rng.choice([1, 1, 2, 3]), rng.choice([1, 7, 100])
        answer, expected_ids = ask(site, **query, page=page, size=size), model.ids(**query)
        part = expected_ids[(page - 1) * size : page * size]
        assert [mod["id"] for mod in answer["mods"]] == part, (query, page, size)
        told = {"count": len(part), "total": len(expected_ids), "page": page, "size": size}
        assert {name: answer[name] for name in told} == told, query
        assert answer["more"] is (page * size < len(expected_ids))


PATTERNS = [("%", "100% wild"), ("00% wild", "100% wild"), ("_", "under_score"), ("k\\s", "back\\slash"), ("\\%", None)]


@pytest.mark.parametrize(("q", "title"), PATTERNS)
def test_signs_of_patterns_are_ordinary_characters(site, q, title):
    # C-LIST-4, C-LIST-5
    insert_mods(site, [{"title": other} for other in ("100% wild", "under_score", "back\\slash", "plain")])
    assert [mod["title"] for mod in ask(site, q=q)["mods"]] == ([title] if title else [])


@pytest.mark.parametrize("dialect", ["postgresql"])
@pytest.mark.parametrize(
    ("q", "uses_index"), [("c++ 4-x", False), ("ab cde", True), ("ab", False), ("a_b", False), ("abc", True)]
)
def test_postgresql_reads_its_index_of_trigrams_only_for_words_that_have_one(site, monkeypatch, q, uses_index):
    # A prepared statement is planned for any word: with the index it would read all of it for a short one.
    insert_mods(site, [{"title": f"c++ 4-x a_b abcde {number}"} for number in range(3)])
    executor, plans = site.find_service(CatalogueReader).reader, list[str]()

    def explain(connection, statement, parameters, **how):
        with connection.cursor() as cursor:
            cursor.execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
            cursor.execute(f"EXPLAIN {statement}", parameters, prepare=True)
            plans.append(str(cursor.fetchall()))
        return run(connection, statement, parameters, **how)

    run = executor._run
    monkeypatch.setattr(executor, "_run", explain)
    assert ask(site, q=q)["total"] == 3
    assert any("trigram" in plan for plan in plans) is uses_index
