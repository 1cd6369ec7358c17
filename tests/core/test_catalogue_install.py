"""``install`` and ``missing`` of a mod."""

import random
import uuid
from typing import Any

import pytest

from modhub.catalogue.copies import public_copy_damage
from modhub.catalogue.reading.documents import install_order
from modhub_testing import Site
from modhub_testing.mods import OWNER, insert_mods, mod_address, new_mod, publish_test_mod, published_mod, upload_asset

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


def model(root: str, requires: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """Depth first over the lists in their order, post-order, each once: by recursion."""
    order: list[str] = []
    missing: list[str] = []
    seen: set[str] = set()

    def visit(written: str) -> None:
        guid = written.lower()
        if guid in seen:
            return
        seen.add(guid)
        if guid not in requires:
            missing.append(written)
            return
        for needed in requires[guid]:
            visit(needed)
        order.append(guid)

    visit(root)
    return order, missing


def guids(count: int) -> list[str]:
    return [str(uuid.UUID(int=number + 1, version=4)) for number in range(count)]


def chain(site: Site, mod_id: int) -> tuple[list[str], list[str]]:
    answer = site.get(f"/api/modhub/{mod_id}").json
    assert answer["install"][-1] == {
        name: value for name, value in answer.items() if name not in {"install", "missing"}
    }
    assert answer["install"][-1]["id"] == mod_id
    return [mod["guid"] for mod in answer["install"]], answer["missing"]


def test_order_and_missing_of_any_graph_are_the_models(site: Site) -> None:
    # C-READ-2, C-READ-3, C-READ-5, C-READ-6
    """Cycles, diamonds, drafts in the middle, requirements that nobody has, in any capitals."""
    rng = random.Random(8)
    for _ in range(12):
        count = rng.choice([1, 3, 8, 20])
        names = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(count)]
        absent = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(3)]
        mods: list[dict[str, Any]] = []
        for name in names:
            pool = [other for other in (*names, *absent) if other != name]
            sampled = rng.sample(pool, rng.randint(0, min(6, len(pool))))
            needs = [rng.choice([str.lower, str.upper, str.title])(other) for other in sampled]
            mods.append({"guid": name, "requires": needs, "published": rng.random() < 0.8})
        ids = insert_mods(site, mods)
        requires = {mod["guid"]: mod["requires"] for mod in mods if mod["published"]}
        for mod, mod_id in zip(mods, ids, strict=True):
            if mod["published"]:
                assert chain(site, mod_id) == model(mod["guid"], requires)
            else:
                site.get(f"/api/modhub/{mod_id}", status=404)


def test_mods_that_need_each_other_appear_once_each(site: Site) -> None:
    # C-READ-4
    first, second, third = guids(3)
    ids = insert_mods(
        site,
        [
            {"guid": first, "requires": [second]},
            {"guid": second, "requires": [third, first]},
            {"guid": third, "requires": [first]},
        ],
    )
    assert chain(site, ids[0]) == ([third, second, first], [])
    assert chain(site, ids[1]) == ([first, third, second], [])
    assert chain(site, ids[2]) == ([second, first, third], [])


@pytest.mark.slow
def test_a_chain_of_a_thousand_takes_as_many_statements_as_none(site: Site) -> None:
    # C-READ-7, T-D7
    names = guids(1000)
    mods = [{"guid": name, "requires": names[at + 1 : at + 2]} for at, name in enumerate(names)]
    ids = insert_mods(site, mods)
    alone = insert_mods(site, [{"guid": str(uuid.uuid4())}])[0]
    with site.counted() as few:
        site.get(f"/api/modhub/{alone}")
    with site.counted() as many:
        install, missing = chain(site, ids[0])
    assert install == list(reversed(names))
    assert missing == []
    assert len(many) == len(few) == 3  # the first asks for the serial


def test_a_ring_of_a_thousand_ends(site: Site) -> None:
    # C-READ-5, T-D7
    names = guids(1000)
    ids = insert_mods(site, [{"guid": name, "requires": [names[(at + 1) % 1000]]} for at, name in enumerate(names)])
    install, _ = chain(site, ids[0])
    assert sorted(install) == sorted(names)


def test_fifty_times_fifty_is_no_bomb(site: Site) -> None:
    # C-READ-4, T-D7
    names = guids(100)
    layers = [names[:50], names[50:]]
    mods = [{"guid": name, "requires": layers[1]} for name in layers[0]]
    mods += [{"guid": name, "requires": layers[0]} for name in layers[1]]
    ids = insert_mods(site, mods)
    requires = {mod["guid"]: mod["requires"] for mod in mods}
    assert chain(site, ids[0]) == model(names[0], requires)


def test_the_order_has_no_greatest_depth() -> None:
    # C-READ-5
    names = [str(at) for at in range(50_000)]
    requires = {name: names[at + 1 : at + 2] for at, name in enumerate(names)}
    assert install_order(["0"], requires) == (list(reversed(names)), [])


def test_capitals_of_a_guid_matter_nowhere_and_stay(site: Site) -> None:
    # C-MOD-9, T-B7
    absent = "ABCDEF01-2345-6789-abcd-EF0123456789"
    needed = published_mod(site, 8, "Needed", requires=[absent.lower()])
    rival = published_mod(site, 8, "Rival")
    relations = {"requires": [absent, needed["guid"].upper()], "conflictsWith": [rival["guid"].upper()]}
    mod = published_mod(site, **relations)
    answer = site.get(mod_address(mod)).json
    assert [step["id"] for step in answer["install"]] == [needed["id"], mod["id"]]
    assert answer["missing"] == [absent]
    assert {name: answer[name] for name in relations} == relations
    # The page knows them too: what it needs, what must not stand beside it, and by whom it is needed.
    page = site.get(mod["url"]).html
    assert [link["href"] for link in page.select(f'a[href="{needed["url"]}"]')]
    assert page.select(f'a[href="{rival["url"]}"]')
    assert site.get(needed["url"]).html.select(f'a[href="{mod["url"]}"]')
    draft = new_mod(site, requires=[needed["guid"].upper()])
    preview = site.get(f"/Modhub/mine/{draft['id']}/preview", headers={"Cookie": f"account={OWNER}"})
    assert preview.html.select(f'a[href="{needed["url"]}"]')
    with site.databases.write_session() as session:
        assert list(public_copy_damage(session)) == []


def test_each_entry_is_complete_and_downloads(site: Site) -> None:
    # C-READ-2
    needed = published_mod(site, 8, "Needed")
    mod = published_mod(site, requires=[needed["guid"].upper()])
    install = site.get(mod_address(mod)).json["install"]
    assert install == [needed, mod]
    for entry in install:
        assert site.get(entry["assets"][0]["url"]).body == b"code of " + entry["guid"].encode()
        assert site.get(mod_address(entry, "download")).body == b"code of " + entry["guid"].encode()


def test_other_calls_leave_the_lists_as_plain_guids(site: Site) -> None:
    needed = published_mod(site, 8, "Needed")
    mod = published_mod(site, requires=[needed["guid"]])
    listed = site.get("/api/modhub").json["mods"][0]
    assert listed["requires"] == [needed["guid"]]
    assert "install" not in listed
    assert "install" not in site.as_account(OWNER).get("/api/modhub/mine").json["mods"][0]
    assert mod["requires"] == [needed["guid"]]


def test_a_requirement_is_resolved_when_it_comes_and_missing_when_it_goes(site: Site) -> None:
    late = new_mod(site, 8, "Late")
    mod = published_mod(site, requires=[late["guid"]])
    assert site.get(mod_address(mod)).json["missing"] == [late["guid"]]
    upload_asset(site, late, "code", owner=8, version="1")
    publish_test_mod(site, late, 8)
    assert site.get(mod_address(mod)).json["missing"] == []
    site.as_account(8).put_json(mod_address(late), {"requires": [mod["guid"]]})
    assert [entry["id"] for entry in site.get(mod_address(mod)).json["install"]] == [late["id"], mod["id"]]
    site.as_account(8).delete(mod_address(late))
    assert site.get(mod_address(mod)).json["missing"] == [late["guid"]]


def test_conflicts_are_no_requirements(site: Site) -> None:
    enemy = published_mod(site, 8, "Enemy")
    mod = published_mod(site, conflictsWith=[enemy["guid"]])
    answer = site.get(mod_address(mod)).json
    assert ([entry["id"] for entry in answer["install"]], answer["missing"]) == ([mod["id"]], [])
