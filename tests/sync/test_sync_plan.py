"""Install plans: order, reasons, conflicts, what is missing, the lock; and the check of a lock."""

import uuid

import pytest

from modhub_testing.mods import hide_mod, insert_mods, new_mod, published_mod
from tests.owning import edit_mod

from .conftest import plan

pytestmark = pytest.mark.slow

ABSENT = "01234567-89AB-cdef-0123-456789abcdef"


def guids(count):
    return [str(uuid.UUID(int=number + 1)) for number in range(count)]


def insert_graph(site, requires):
    insert_mods(site, [{"guid": guid, "requires": listed} for guid, listed in requires.items()])


def test_missing_names_who_asked(site):
    # C-SYNC-9
    draft, hidden = new_mod(site), published_mod(site)
    middle = published_mod(site, requires=[draft["guid"].upper(), hidden["guid"]])
    top = published_mod(site, requires=[draft["guid"], middle["guid"]])
    hide_mod(site, hidden)
    answer = plan(site, top["guid"], ABSENT)
    assert answer["missing"] == [
        {"guid": draft["guid"], "requiredBy": [middle["guid"], top["guid"]]},
        {"guid": hidden["guid"], "requiredBy": [middle["guid"]]},
        {"guid": ABSENT, "requiredBy": []},
    ]
    assert [step["guid"] for step in answer["steps"]] == [middle["guid"], top["guid"]]
    assert answer["stillInstalled"] == []
    # What the caller has is no reason to stop.
    answer = plan(site, top["guid"], ABSENT, have=[{"guid": hidden["guid"]}, {"guid": ABSENT.upper()}])
    assert [gap["guid"] for gap in answer["missing"]] == [draft["guid"]]
    assert answer["stillInstalled"] == [hidden["guid"], ABSENT]
    # What is there has no bytes to fetch.
    answer = plan(site, top["guid"], have=[{"guid": middle["guid"], "version": "1"}])
    assert answer["bytes"] == top["assets"][0]["bytes"]


def test_conflicts_are_pairs_with_both_paths(site):
    # C-SYNC-10
    base = published_mod(site)
    left = published_mod(site, requires=[base["guid"]])
    gone, installed = str(uuid.uuid4()), published_mod(site)
    right = published_mod(site, conflictsWith=[base["guid"].upper(), gone, ABSENT, installed["guid"]])
    listed = plan(site, left["guid"], right["guid"])["conflicts"]
    first = {"guid": base["guid"], "because": [left["guid"]], "title": "A mod", "excludes": False}
    second = {"guid": right["guid"], "because": [], "title": "A mod", "excludes": True}
    assert listed == [{"pair": [first, second]}]
    have = [{"guid": gone}, {"guid": installed["guid"].upper(), "version": "1"}]
    answer = plan(site, left["guid"], right["guid"], have=have)
    assert answer["conflictsTotal"] == 3
    assert [[mod["guid"] for mod in conflict["pair"]] for conflict in answer["conflicts"]] == [
        [base["guid"], right["guid"]],
        [right["guid"], gone],
        [right["guid"], installed["guid"]],
    ]
    assert answer["conflicts"][1]["pair"][1] == {"guid": gone, "because": [], "title": None, "excludes": False}
    # An installed mod excludes a wanted one; both name each other: one pair.
    edit_mod(site, installed, conflictsWith=[left["guid"], right["guid"]])
    assert plan(site, right["guid"], have=have)["conflictsTotal"] == 2
    both = plan(site, right["guid"], have=have)["conflicts"][-1]["pair"]
    assert [mod["excludes"] for mod in both] == [True, True]
    assert plan(site, left["guid"], have=have)["conflictsTotal"] == 1
    assert plan(site, base["guid"], have=have)["conflictsTotal"] == 0


@pytest.mark.postgres
def test_the_number_of_statements_is_constant_too(site):
    for size in (2, 40):
        names = [str(uuid.uuid4()) for _ in range(size)]
        insert_graph(site, {name: [after] for name, after in zip(names, names[1:] + names[:1], strict=True)})
        others = [{"guid": str(uuid.uuid4())} for _ in range(size)]
        for have, count in (([], 3), ([{"guid": name} for name in names], 3), (others, 5)):
            with site.counted() as statements:
                assert len(plan(site, names[0], have=have)["steps"]) == size
            assert len(statements) == count
        with site.counted() as statements:
            lock = {"entries": [{"guid": name, "version": "", "sha256": "0" * 64} for name in names]}
            assert len(site.post_json("/api/modhub/plan/check", {"lock": lock}).json["entries"]) == size
        assert len(statements) == 1


@pytest.mark.slow
def test_a_long_chain_shows_both_ends_of_its_paths(site):
    # C-SYNC-9
    names = guids(1000)
    insert_graph(site, {name: [after] for name, after in zip(names, [*names[1:], names[-1][:-1] + "f"], strict=True)})
    steps = plan(site, names[0])["steps"]
    assert [step["guid"] for step in steps] == names[::-1]
    by_guid = {step["guid"]: step for step in steps}
    assert by_guid[names[16]]["because"] == names[:16]
    assert "depth" not in by_guid[names[16]]
    assert by_guid[names[17]]["because"] == names[:8] + names[9:17]
    assert by_guid[names[17]]["depth"] == 17
    assert by_guid[names[999]]["because"] == names[:8] + names[991:999]
    assert by_guid[names[999]]["depth"] == 999


@pytest.mark.postgres
def test_cycles_and_wide_graphs(site):
    # C-SYNC-9
    names = guids(101)
    root, first, second = names[0], names[1:51], names[51:]
    insert_graph(site, {root: first, **dict.fromkeys(first, second), **{guid: [root] for guid in second}})
    answer = plan(site, root)
    order = [step["guid"] for step in answer["steps"]]
    assert order == [mod["guid"] for mod in site.get(f"/api/modhub/guid/{root}").json["install"]]
    reasons = {step["guid"]: step["because"] for step in answer["steps"]}
    assert reasons[root] == []
    assert all(reasons[guid] == [root] for guid in first)
    assert all(reasons[guid] == [root, first[0]] for guid in second)
    assert [step["guid"] for step in plan(site, second[3])["steps"]][-1] == second[3]


def test_at_most_a_hundred_conflicts_are_shown(site):
    # C-SYNC-10
    names = guids(40)
    insert_mods(site, [{"guid": name, "conflicts": [other for other in names if other != name]} for name in names])
    answer = plan(site, *names)
    assert answer["conflictsTotal"] == 40 * 39 // 2
    assert len(answer["conflicts"]) == 100
