"""The statement of install chains: the same rows on both databases, whatever it looks like there."""

import random
import uuid
from typing import Any

import pytest
from msgspec.json import decode

from modhub.base import composed_body
from modhub.base.composed_body import ContentChanged
from modhub.catalogue.reading import documents
from modhub.catalogue.reading.service import CatalogueReader
from modhub.db.raw_queries import PreparedQuery
from modhub.web.payload import encode
from modhub_testing import Site
from modhub_testing.mods import OWNER, insert_mods, mod_address, new_mod, published_mod

pytestmark = pytest.mark.postgres


def graph(rng: random.Random) -> list[dict[str, Any]]:
    """Mods with cycles, diamonds, drafts, requirements that nobody has, in any capitals."""
    names = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(rng.choice([1, 2, 5, 12, 30]))]
    absent = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(3)]
    spellings = (str.lower, str.upper, str.title)
    return [
        {
            "guid": name,
            "requires": [
                rng.choice(spellings)(other)
                for other in rng.sample([*names, *absent], rng.randint(0, min(6, len(names))))
                if other != name
            ],
            "published": rng.random() < 0.8,
        }
        for name in names
    ]


def reached(mods: list[dict[str, Any]], ids: dict[str, int], start: list[str]) -> dict[str, tuple[int, str] | None]:
    """What the statement must return: {guid: (id, requires) or None for one that is not published}."""
    requires = {mod["guid"]: mod["requires"] for mod in mods if mod["published"]}
    rows: dict[str, tuple[int, str] | None] = {}
    waiting = [guid for guid in start if guid in requires]
    while waiting:
        guid = waiting.pop()
        if guid in rows:
            continue
        needed = requires.get(guid)
        rows[guid] = None if needed is None else (ids[guid], " ".join(needed))
        waiting += [other.lower() for other in needed or ()]
    return rows


def rows_by_guid(rows: list[Any]) -> dict[str, tuple[int, str] | None]:
    by_guid = {row[0]: None if row[1] is None else (row[1], row[4]) for row in rows}
    assert len(by_guid) == len(rows)
    for row in rows:
        # A missing mod has NULL in every column but its GUID, a published one in none.
        assert {value is None for value in row[1:]} == {row[1] is None}
    return by_guid


def guid_list(guids: list[str]) -> str:
    return encode(guids).decode()


@pytest.mark.parametrize("seed", range(8))
def test_a_chain_has_the_rows_of_the_model(site: Site, seed: int) -> None:
    # C-READ-5, C-READ-6
    rng = random.Random(seed)
    # Something else in the tables, and a chain beside this one.
    insert_mods(site, graph(rng))
    new_mod(site)
    mods = graph(rng)
    ids = dict(zip([mod["guid"] for mod in mods], insert_mods(site, mods), strict=True))
    reader = site.databases.raw_queries
    chain_query = PreparedQuery(documents.chain_statement(reader.dialect))
    chains_query = PreparedQuery(documents.chains_statement(reader.dialect))
    for guid, mod_id in ids.items():
        assert rows_by_guid(reader.rows(chain_query, id=mod_id)) == reached(mods, ids, [guid])
    start = rng.sample(list(ids), min(4, len(ids)))
    assert rows_by_guid(reader.rows(chains_query, guids=guid_list(start))) == reached(mods, ids, start)
    assert reader.rows(chain_query, id=10**9) == reader.rows(chains_query, guids=guid_list([str(uuid.uuid4())])) == []


def test_documents_are_read_in_the_order_asked_and_as_they_were_measured(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    mods = [published_mod(site, title=f"mod {number}") for number in range(5)]
    reader = site.find_service(CatalogueReader).stored
    stored = reader.measure([mod["guid"] for mod in mods])
    order = [stored[mods[number]["guid"]] for number in (3, 0, 4, 0, 1)]
    documents = list(reader.documents(order))
    assert site.databases.raw_queries.idle_count >= 1
    assert [decode(document)["title"] for document in documents] == ["mod 3", "mod 0", "mod 4", "mod 0", "mod 1"]
    assert [len(document) for document in documents] == [mod.size for mod in order]
    with monkeypatch.context() as patch:
        patch.setattr(composed_body, "PORTION", order[0].size)
        assert list(reader.documents(order)) == documents
    site.as_account(OWNER).put_json(mod_address(mods[4]), {"title": "another"})
    with pytest.raises(ContentChanged):
        list(reader.documents(order))
    site.as_account(OWNER).delete(mod_address(mods[0]))
    with pytest.raises(ContentChanged):
        list(reader.documents(order))
