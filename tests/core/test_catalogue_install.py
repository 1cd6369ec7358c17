"""``install`` and ``missing`` of a mod."""

import random
import uuid

import pytest

from modhub.catalogue.copies import public_copy_damage
from modhub_testing.mods import insert_mods, published_mod

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


def model(root, requires):
    """Depth first over the lists in their order, post-order, each once: by recursion."""
    order = []
    missing = []
    seen = set()

    def visit(written):
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


def guids(count):
    return [str(uuid.UUID(int=number + 1, version=4)) for number in range(count)]


def chain(site, mod_id):
    answer = site.get(f"/api/modhub/{mod_id}").json
    assert answer["install"][-1] == {
        name: value for name, value in answer.items() if name not in {"install", "missing"}
    }
    assert answer["install"][-1]["id"] == mod_id
    return [mod["guid"] for mod in answer["install"]], answer["missing"]


def test_order_and_missing_of_any_graph_are_the_models(site):
    # C-READ-2, C-READ-6, T-B2
    """Cycles, diamonds, drafts in the middle, requirements that nobody has, in any capitals."""
    rng = random.Random(8)
    for _ in range(12):
        count = rng.choice([1, 3, 8, 20])
        names = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(count)]
        absent = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(3)]
        mods = []
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


@pytest.mark.slow
def test_a_chain_of_a_thousand_takes_as_many_statements_as_none(site):
    # C-READ-2, T-D7
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


def test_pages_know_mods_whatever_the_capitals_of_their_guids(site):
    # C-MOD-8, T-B7
    needed, rival = published_mod(site, 8, "Needed"), published_mod(site, 8, "Rival")
    mod = published_mod(site, requires=[needed["guid"].upper()], conflictsWith=[rival["guid"].upper()])
    # What must not stand beside it, and by whom it is needed.
    assert site.get(mod["url"]).html.select(f'a[href="{rival["url"]}"]')
    assert site.get(needed["url"]).html.select(f'a[href="{mod["url"]}"]')
    with site.databases.write_session() as session:
        assert list(public_copy_damage(session)) == []
