"""Install plans: order, reasons, conflicts, what is missing, the lock; and the check of a lock."""

import hashlib
import json
import uuid
from typing import Any

import pytest

from modhub_testing import Site
from modhub_testing.mods import OWNER, hide_mod, insert_mods, mod_address, new_mod, published_mod, upload_asset

pytestmark = pytest.mark.slow

ABSENT = "01234567-89AB-cdef-0123-456789abcdef"


def plan(site: Site, *want: str, have: Any = ()) -> Any:
    return site.post_json("/api/modhub/plan", {"want": list(want), "have": list(have)}, status=200).json


def shown(answer: Any) -> list[tuple[str, str, list[str]]]:
    return [(step["guid"], step["action"], step["because"]) for step in answer["steps"]]


def guids(count: int) -> list[str]:
    return [str(uuid.UUID(int=number + 1)) for number in range(count)]


def insert_graph(site: Site, requires: dict[str, list[str]]) -> None:
    insert_mods(site, [{"guid": guid, "requires": listed} for guid, listed in requires.items()])


def test_each_step_has_the_shortest_reason(site: Site) -> None:
    # C-SYNC-9
    base = published_mod(site, title="base")
    middle = published_mod(site, title="middle", requires=[base["guid"].upper()])
    top = published_mod(site, title="top", requires=[middle["guid"]])
    other = published_mod(site, title="other", requires=[base["guid"], top["guid"]])
    ids = [mod["guid"] for mod in (base, middle, top, other)]
    answer = plan(site, top["guid"].upper())
    assert shown(answer) == [
        (ids[0], "install", [ids[2], ids[1]]),
        (ids[1], "install", [ids[2]]),
        (ids[2], "install", []),
    ]
    assert [step["guid"] for step in answer["steps"]] == [
        mod["guid"] for mod in site.get(mod_address(top)).json["install"]
    ]
    assert (answer["conflicts"], answer["conflictsTotal"], answer["missing"]) == ([], 0, [])
    assert shown(plan(site, ids[2], ids[3])) == [
        (ids[0], "install", [ids[3]]),
        (ids[1], "install", [ids[2]]),
        (ids[2], "install", []),
        (ids[3], "install", []),
    ]
    assert answer.keys() == {"steps", "conflicts", "conflictsTotal", "missing", "bytes", "lock"}


def test_what_is_there_is_kept_or_updated(site: Site) -> None:
    # C-SYNC-9
    base = published_mod(site, version="1")
    top = published_mod(site, version="1", requires=[base["guid"]])
    sizes = [mod["assets"][0]["bytes"] for mod in (base, top)]
    have = [{"guid": base["guid"].upper(), "version": "1"}, {"guid": top["guid"], "version": "1", "sha256": "0" * 64}]
    answer = plan(site, top["guid"], have=have)
    assert [step["action"] for step in answer["steps"]] == ["keep", "update"]
    assert answer["bytes"] == sizes[1]
    assert plan(site, top["guid"])["bytes"] == sum(sizes)
    answer = site.post_json("/api/modhub/plan", {"want": [top["guid"]]}, status=200).json
    assert [step["action"] for step in answer["steps"]] == ["install", "install"]
    assert plan(site) == {**answer, "steps": [], "bytes": 0, "lock": plan(site)["lock"]}


def test_missing_names_who_asked(site: Site) -> None:
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


def test_conflicts_are_pairs_with_both_paths(site: Site) -> None:
    # C-SYNC-10, C-SYNC-22
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
    site.as_account(OWNER).put_json(mod_address(installed), {"conflictsWith": [left["guid"], right["guid"]]})
    assert plan(site, right["guid"], have=have)["conflictsTotal"] == 2
    both = plan(site, right["guid"], have=have)["conflicts"][-1]["pair"]
    assert [mod["excludes"] for mod in both] == [True, True]
    assert plan(site, left["guid"], have=have)["conflictsTotal"] == 1
    assert plan(site, base["guid"], have=have)["conflictsTotal"] == 0


def test_the_lock_is_canonical_and_its_digest_right(site: Site) -> None:
    # C-SYNC-11
    base = published_mod(site, version='ü "1"/\u2028')
    top = published_mod(site, requires=[base["guid"]])
    answer = plan(site, top["guid"], have=[{"guid": base["guid"], "version": base["version"]}])
    lock = answer["lock"]
    assert [entry["guid"] for entry in lock["entries"]] == sorted([base["guid"], top["guid"]])
    assert all(entry.keys() == {"guid", "version", "sha256"} for entry in lock["entries"])
    canonical = json.dumps(lock["entries"], ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    assert lock["digest"] == hashlib.sha256(canonical.encode()).hexdigest()
    assert lock == plan(site, base["guid"], top["guid"])["lock"]
    # Whatever the order of the question and of the steps.
    asked_for = sorted((published_mod(site)["guid"] for _ in range(3)), reverse=True)
    assert [entry["guid"] for entry in plan(site, *asked_for)["lock"]["entries"]] == asked_for[::-1]


def test_a_lock_is_checked_entry_by_entry(site: Site) -> None:
    # C-SYNC-11
    mods = [published_mod(site, title=title) for title in "abc"]
    lock = plan(site, *(mod["guid"] for mod in mods))["lock"]

    def states() -> dict[str, str]:
        with site.counted() as statements:
            answer = site.post_json("/api/modhub/plan/check", {"lock": lock}, status=200).json
        assert len(statements) == 1
        assert [entry["guid"] for entry in answer["entries"]] == [entry["guid"] for entry in lock["entries"]]
        return {entry["guid"]: entry["state"] for entry in answer["entries"]}

    assert set(states().values()) == {"same"}
    upload_asset(site, mods[0], "code", b"another", version="2")
    hide_mod(site, mods[1])
    assert states() == {mods[0]["guid"]: "replaced", mods[1]["guid"]: "gone", mods[2]["guid"]: "same"}
    nothing = site.post_json("/api/modhub/plan/check", {"lock": {"entries": []}}).json
    assert nothing == {"entries": []}


@pytest.mark.postgres
def test_the_number_of_statements_is_constant_too(site: Site) -> None:
    for size in (2, 40):
        names = [str(uuid.uuid4()) for _ in range(size)]
        insert_graph(site, {name: [after] for name, after in zip(names, names[1:] + names[:1], strict=True)})
        others = [{"guid": str(uuid.uuid4())} for _ in range(size)]
        for have, count in (([], 2), ([{"guid": name} for name in names], 2), (others, 3)):
            with site.counted() as statements:
                assert len(plan(site, names[0], have=have)["steps"]) == size
            assert len(statements) == count


@pytest.mark.slow
def test_a_long_chain_shows_both_ends_of_its_paths(site: Site) -> None:
    # C-SYNC-9
    names = guids(1000)
    insert_graph(site, {name: [after] for name, after in zip(names, [*names[1:], names[-1][:-1] + "f"], strict=True)})
    steps = plan(site, names[0])["steps"]
    assert [step["guid"] for step in steps] == names[::-1]
    by_guid = {step["guid"]: step for step in steps}
    assert by_guid[names[16]]["because"] == names[:16]
    assert "depth" not in by_guid[names[16]]
    assert by_guid[names[17]] == {
        "guid": names[17],
        "action": "install",
        "because": names[:8] + names[9:17],
        "depth": 17,
        "relations": by_guid[names[17]]["relations"],
    }
    assert by_guid[names[999]]["because"] == names[:8] + names[991:999]
    assert by_guid[names[999]]["depth"] == 999


@pytest.mark.postgres
def test_cycles_and_wide_graphs(site: Site) -> None:
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


def test_at_most_a_hundred_conflicts_are_shown(site: Site) -> None:
    # C-SYNC-10
    names = guids(40)
    insert_mods(site, [{"guid": name, "conflicts": [other for other in names if other != name]} for name in names])
    answer = plan(site, *names)
    assert answer["conflictsTotal"] == 40 * 39 // 2
    assert len(answer["conflicts"]) == 100
