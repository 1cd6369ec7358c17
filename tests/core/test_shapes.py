"""What callers send has any shape, and nothing is kept for each shape: no statement, no name, no header."""

import gc
import random
import tracemalloc

import pytest
from webob import Request

from modhub.catalogue.reading.service import CatalogueReader, ListParams
from modhub_testing import shapes as kinds
from modhub_testing.mods import insert_mods
from modhub_testing.shapes import KINDS
from modhub_wiki.read_service import WikiReader

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync "
    "modhub_wiki modhub_downloads modhub_profiles modhub_tags modhub_moderation"
)
SEED = 20261124
WARM_UP = 300
MEASURED = 200
FEW_BYTES = 2_000
"""Of each shape; the statements of searches are not all compiled in the warm-up."""


def call(site, shape):
    """Without WebTest, which keeps what it warns of."""
    environ = {"REMOTE_ADDR": "127.0.0.1", "webob.is_body_seekable": True}
    request = Request.blank(shape.path, environ, headers=dict(shape.headers), method=shape.method, body=shape.body)
    assert request.get_response(site.app).status_int < 500, shape.path[:100]


def traced_after(site, shapes):
    """The bytes that are traced when all have been sent."""
    for shape in shapes:
        call(site, shape)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.long
def test_nothing_is_kept_of_a_shape(start, kind):
    # T-D19
    site, chance = start(f"{FEATURES} modhub_testing.nothing_kept", fresh=True), random.Random(SEED)
    shapes = [kind(chance) for _ in range(WARM_UP + MEASURED)]
    tracemalloc.start()
    try:
        before = traced_after(site, shapes[:WARM_UP])
        grown = traced_after(site, shapes[WARM_UP:]) - before
    finally:
        tracemalloc.stop()
    assert grown < MEASURED * FEW_BYTES


def searches(count):
    chance = random.Random(SEED)
    return [kinds.search_of_many_words(chance) for _ in range(count)]


def test_searches_of_any_words_have_few_statements(site):
    # C-LIST-4, T-D19
    insert_mods(site, [{"games": ["Portal"]}])
    reader = site.find_service(CatalogueReader)
    executed = set()
    with site.counted() as statements:
        for number, q in enumerate(searches(600)):
            for sort in ("new", "top"):
                reader.find(ListParams(q, ("", "Portal")[number % 2], sort))
            executed |= set(statements)
            statements.clear()
    assert len(executed) < 70


def test_searches_of_the_wiki_have_few_statements(start):
    # T-D19
    site = start("modhub_wiki")
    with site.counted() as statements:
        for q in searches(300):
            WikiReader(site.databases.raw_queries).search(q)
    assert len(set(statements)) <= 8


def test_all_words_of_a_search_count(site):
    # C-LIST-4
    """However many there are: each of them alone can rule a mod out."""
    chance = random.Random(SEED)
    words = sorted({kinds.letters(chance, 3) for _ in range(60)})[:50]
    title = " ".join(words)[:120]
    words = title.split()
    insert_mods(site, [{"title": title}, {"title": "Another"}])
    reader = site.find_service(CatalogueReader)
    for place in range(len(words)):
        changed = [*words[:place], "000", *words[place + 1 :]]
        for sort in ("new", "top"):
            assert reader.find(ListParams(" ".join(changed), sort=sort)).total == 0, changed
