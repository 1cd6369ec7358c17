"""Following the catalogue: look-ups by GUID, update checks, what questions may be; install plans and locks."""

import hashlib
import json
from itertools import pairwise
from typing import Any, Final

from modhub_client.verify.checks import follow_check
from modhub_client.verify.read_chains import read_chains
from modhub_client.verify.replies import Reply, require, require_equal
from modhub_client.verify.run import UNKNOWN_GUID, Run, find_asset
from modhub_client.verify.shapes import MOD, TEXT, TIME, described_answer, list_of, object_of, require_shape

_LETTERS: Final = "abcdefab-cdef-4abc-8def-abcdefabcdef"
_OTHER_LETTERS: Final = "fedcbafe-dcba-4fed-8cba-fedcbafedcba"
"""GUIDs that no mod has, with letters."""


def put_question(run: Run, call: str, **question: Any) -> Reply:
    """Ask by ``POST /api/modhub/{call}``."""
    return run.service.ask(f"/api/modhub/{call}", question)


def ask_for_updates(run: Run, *have: dict[str, Any]) -> dict[str, Any]:
    """The answer to an update check."""
    return described_answer(run, "POST /api/modhub/updates", put_question(run, "updates", have=list(have)))


@follow_check("C-SYNC-1")
def a_mod_is_read_by_its_guid(run: Run) -> None:
    """In any case, as by its number: the same body, ``ETag`` and ``Link``."""
    by_number = run.service.get(run.mod_path).expect(200)
    for guid in (run.a_mod["guid"], run.a_mod["guid"].upper()):
        reply = run.service.get(f"/api/modhub/guid/{guid}").expect(200)
        require_equal(f"the body of {reply.call}", by_number.body, reply.body)
        for name in ("ETag", "Link"):
            require_equal(f"{name} of {reply.call}", by_number.header(name), reply.header(name))
    for guid in (UNKNOWN_GUID, "no-guid", UNKNOWN_GUID.replace("-", "")):
        run.service.get(f"/api/modhub/guid/{guid}").expect_error(404, "not_found")


@follow_check("C-SYNC-16", "C-MOD-1")
def a_lookup_has_mods_in_the_order_asked(run: Run) -> None:
    """Each once, with its whole shape; the others are ``missing`` as sent, in capitals or not."""
    mods = run.mods[:5]
    guids = [mod["guid"].upper() for mod in reversed(mods)]
    unknown = [_LETTERS, _OTHER_LETTERS.upper()]
    asked = [*unknown, *guids, *guids, *unknown]
    document = put_question(run, "lookup", guids=asked).expect_document()
    require_shape("the look-up", object_of(mods=list_of(MOD), missing=list_of(TEXT)), document)
    require_equal("missing", unknown, document["missing"])
    require_equal("the mods of the look-up", list(reversed(mods)), [_listed(mod) for mod in document["mods"]])
    require("more" not in document or document["more"], "more: expected no empty list.")


def _listed(mod: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in mod.items() if name not in {"install", "missing"}}


@follow_check("C-SYNC-16")
def a_lookup_refuses_what_is_no_list_of_guids(run: Run) -> None:
    """400 for another type, for another text, and for more than 500."""
    for guids in ("text", None, [1], ["no-guid"], [f"{UNKNOWN_GUID[:-3]}{number:03}" for number in range(501)]):
        put_question(run, "lookup", guids=guids).expect_error(400)
    put_question(run, "lookup").expect_error(400)
    require_equal(
        "an empty look-up", {"mods": [], "missing": []}, put_question(run, "lookup", guids=[]).expect_document()
    )


@follow_check("C-SYNC-3")
def an_update_check_compares_files(run: Run) -> None:
    """By SHA-256 if one is sent, else by version."""
    mod, guid = run.code_mod, run.code_mod["guid"]
    digest = run.digest_of(mod)
    for same in ({"sha256": digest}, {"sha256": digest.upper(), "version": "another"}, {"version": mod["version"]}):
        document = ask_for_updates(run, {"guid": guid, **same})
        require_equal(
            f"an update check with {sorted(same)}",
            ([], [], 1),
            (document["changed"], document["gone"], document["same"]),
        )
    for other in (
        {"sha256": "0" * 64},
        {"sha256": "0" * 64, "version": mod["version"]},
        {"version": "another version"},
        {},
    ):
        document = ask_for_updates(run, {"guid": guid, **other}, {"guid": UNKNOWN_GUID})
        require_equal("gone", [UNKNOWN_GUID], document["gone"])
        (changed,) = document["changed"]
        file = find_asset(mod, "code")
        expected = (guid, mod["version"], digest, file["bytes"], file["url"])
        came = (changed["guid"], changed["version"], changed["sha256"], changed["bytes"], changed["url"])
        require_equal(f"what changed with {sorted(other)}", expected, came)


@follow_check("C-SYNC-3")
def an_update_check_has_the_newest_entries(run: Run) -> None:
    """At most five of a mod, as its changelog has them."""
    document = ask_for_updates(run, *({"guid": mod["guid"], "version": "another version"} for mod in run.mods[:20]))
    for changed in document["changed"]:
        require(len(changed["changelog"]) <= 5, f"{changed['guid']} has {len(changed['changelog'])} entries.")
    first = document["changed"][0]
    notes = run.service.read(f"/api/modhub/{first['id']}/changelog")["notes"]
    require(all(note in notes for note in first["changelog"]), "an entry of the update check is not in the changelog.")


@follow_check("C-SYNC-17")
def an_update_check_says_whose_relations_changed(run: Run) -> None:
    """For those who sent ``relations``."""
    guid = run.code_mod["guid"]
    (step,) = [
        step for step in put_question(run, "plan", want=[guid]).expect_document()["steps"] if step["guid"] == guid
    ]
    require("relationsChanged" not in ask_for_updates(run, {"guid": guid}), "relationsChanged: none was sent.")
    same = ask_for_updates(run, {"guid": guid, "relations": step["relations"]})
    require_equal("relationsChanged of the same", [], same["relationsChanged"])
    other = ask_for_updates(run, {"guid": guid, "relations": "another"})
    require_equal("relationsChanged of another", [guid], other["relationsChanged"])
    require_equal("relations", [{"guid": guid, "relations": step["relations"]}], other["relations"])


@follow_check("C-SYNC-20")
def a_digest_has_64_hexadecimal_digits(run: Run) -> None:
    """Anything else is 400, in update checks, plans and locks."""
    for digest in ("", "0" * 63, "0" * 65, "x" * 64):
        entry = {"guid": UNKNOWN_GUID, "sha256": digest, "version": "1"}
        put_question(run, "updates", have=[entry]).expect_error(400)
        put_question(run, "plan", want=[], have=[entry]).expect_error(400)
        put_question(run, "plan/check", lock={"entries": [entry]}).expect_error(400)


@follow_check("C-SYNC-20", "C-HTTP-12")
def answers_to_questions_are_compressed_and_not_kept(run: Run) -> None:
    """``Vary``, no ``ETag``, ``no-store``."""
    guids = [mod["guid"] for mod in run.mods[:20]]
    for call, question in (
        ("lookup", {"guids": guids}),
        ("updates", {"have": [{"guid": guid} for guid in guids]}),
        ("plan", {"want": guids}),
    ):
        path = f"/api/modhub/{call}"
        plain = run.service.ask(path, question).expect(200).expect_named("Vary", "Accept-Encoding")
        packed = run.service.ask(path, question, {"Accept-Encoding": "gzip"}).expect(200)
        require_equal(f"ETag of {path}", "", plain.header("ETag"))
        require("no-store" in plain.names("Cache-Control"), f"{path}: may be kept: {plain.header('Cache-Control')!r}.")
        if len(plain.body) > 1000:
            packed.expect_header("Content-Encoding", "gzip")
            require_equal(f"the content of {path} in gzip", plain.body, packed.unzipped())


def plan_for(run: Run, *want: str, **more: Any) -> dict[str, Any]:
    """The plan for these GUIDs."""
    reply = put_question(run, "plan", want=list(want), **more)
    return described_answer(run, "POST /api/modhub/plan", reply)


@follow_check("C-SYNC-9")
def a_plan_has_the_steps_of_install(run: Run) -> None:
    """In its order, from nothing: each is ``install``, and ``bytes`` is what they have."""
    for mod in [run.code_mod, *run.mods[:2]]:
        single = run.service.read(f"/api/modhub/{mod['id']}")
        plan = plan_for(run, mod["guid"].upper())
        steps = [step["guid"].lower() for step in plan["steps"]]
        require_equal("the steps", [entry["guid"].lower() for entry in single["install"]], steps)
        require_equal("the actions", {"install"}, {step["action"] for step in plan["steps"]})
        sizes = [find_asset(entry, "code")["bytes"] for entry in single["install"]]
        require_equal("bytes", sum(sizes), plan["bytes"])


@follow_check("C-SYNC-9")
def a_plan_keeps_what_is_there_and_updates_the_rest(run: Run) -> None:
    """By file, or by version."""
    guid, digest = run.code_mod["guid"], run.digest_of(run.code_mod)
    for have, action in (
        ({"sha256": digest}, "keep"),
        ({"version": run.code_mod["version"]}, "keep"),
        ({"sha256": "0" * 64}, "update"),
        ({"version": "another version"}, "update"),
    ):
        plan = plan_for(run, guid, have=[{"guid": guid, **have}])
        require_equal(f"the action with {sorted(have)}", action, plan["steps"][-1]["action"])


@follow_check("C-SYNC-9")
def a_step_says_by_which_mods_it_is_required(run: Run) -> None:
    """A path from a wanted mod: each requires the next, the last one the step."""
    for single in read_chains(run)[:3]:
        mods = {mod["guid"].lower(): mod for mod in single["install"]}
        for step in plan_for(run, single["guid"])["steps"]:
            path = [guid.lower() for guid in step["because"]]
            if step["guid"].lower() == single["guid"].lower():
                require_equal("because of the wanted mod", [], path)
                continue
            require(path and path[0] == single["guid"].lower(), f"{step['guid']}: the path begins elsewhere.")
            if "depth" in step:
                continue  # a long path is cut
            for requirer, required in zip(path, [*path[1:], step["guid"].lower()], strict=True):
                requires = {guid.lower() for guid in mods[requirer]["requires"]}
                require(required in requires, f"{requirer} does not require {required}.")


@follow_check("C-SYNC-3", "C-SYNC-9")
def a_step_names_the_file_to_download(run: Run) -> None:
    """So does what an update check says has changed. What is here, but not there, is no gap."""
    mod, file = run.code_mod, run.code_file
    (changed,) = ask_for_updates(run, {"guid": mod["guid"], "sha256": "0" * 64})["changed"]
    here = {"guid": UNKNOWN_GUID, "version": "1"}
    plan = plan_for(run, UNKNOWN_GUID, mod["guid"], have=[here])
    expected = (mod["title"], file["name"], file["bytes"], file["url"], run.digest_of(mod))
    for told in (plan["steps"][-1], changed):
        came = tuple(told[name] for name in ("title", "name", "bytes", "url", "sha256"))
        require_equal("the file of a mod", expected, came)
        require_shape("uploadedAt", TIME, told["uploadedAt"])
    require_equal("missing and still installed", ([], [UNKNOWN_GUID]), (plan["missing"], plan["stillInstalled"]))


@follow_check("C-SYNC-9")
def a_plan_names_what_is_missing_and_who_requires_it(run: Run) -> None:
    """A wanted mod that nobody requires, too."""
    (missing,) = plan_for(run, UNKNOWN_GUID.upper())["missing"]
    require_equal("what is missing", (UNKNOWN_GUID, []), (missing["guid"].lower(), missing["requiredBy"]))
    for single in sorted(read_chains(run), key=lambda single: not single["missing"])[:3]:
        plan = plan_for(run, single["guid"])
        require_equal(
            "missing",
            {guid.lower() for guid in single["missing"]},
            {entry["guid"].lower() for entry in plan["missing"]},
        )
        require(all(entry["requiredBy"] for entry in plan["missing"]), "a missing mod is required by nobody.")


@follow_check("C-SYNC-10")
def a_plan_names_each_pair_that_excludes_one_another(run: Run) -> None:
    """Who excludes whom, with the titles."""
    listed = {mod["guid"].lower(): mod for mod in run.mods}
    mod = run.find_mod(
        "a conflict with another mod", lambda mod: any(guid.lower() in listed for guid in mod["conflictsWith"])
    )
    other = next(listed[guid.lower()] for guid in mod["conflictsWith"] if guid.lower() in listed)
    plan = plan_for(run, mod["guid"], other["guid"])
    pairs = [{entry["guid"].lower(): entry for entry in conflict["pair"]} for conflict in plan["conflicts"]]
    expected = {mod["guid"].lower(), other["guid"].lower()}
    matching = [pair for pair in pairs if set(pair) == expected]
    require_equal("the pair of the two mods", 1, len(matching))
    first = matching[0][mod["guid"].lower()]
    require_equal("who excludes, and its title", (True, mod["title"]), (first["excludes"], first["title"]))
    require(
        plan["conflictsTotal"] >= len(plan["conflicts"]) and len(plan["conflicts"]) <= 100, "conflictsTotal is too low."
    )


@follow_check("C-SYNC-9")
def a_plan_without_reasons_is_the_same_otherwise(run: Run) -> None:
    guids = [mod["guid"] for mod in run.mods[:3]]
    whole, short = plan_for(run, *guids), plan_for(run, *guids, because=False)
    for plan in (whole, short):
        for path in (*plan["steps"], *(entry for conflict in plan["conflicts"] for entry in conflict["pair"])):
            require_equal("whether a step has because", plan is whole, "because" in path)
            for name in ("because", "depth"):
                path.pop(name, None)
    require_equal("the plan without reasons", whole, short)


@follow_check("C-SYNC-11")
def a_lock_has_the_digest_of_its_entries(run: Run) -> None:
    """By GUID: file and version of each step, in canonical JSON."""
    guids = [mod["guid"] for mod in run.mods[:3]]
    plan = plan_for(run, *guids)
    entries = plan["lock"]["entries"]
    require_equal(
        "the entries of the lock",
        sorted(step["guid"].lower() for step in plan["steps"]),
        [entry["guid"].lower() for entry in entries],
    )
    canonical = json.dumps(entries, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    require_equal("digest", hashlib.sha256(canonical.encode()).hexdigest(), plan["lock"]["digest"])
    digests = {entry["guid"].lower(): entry["sha256"] for entry in entries}
    require_equal("sha256 of a mod", run.digest_of(run.mods[0]), digests[run.mods[0]["guid"].lower()])


@follow_check("C-SYNC-11")
def a_lock_can_be_checked(run: Run) -> None:
    """``same``, ``replaced`` or ``gone``, in its order."""
    guid, digest = run.code_mod["guid"], run.digest_of(run.code_mod)
    for entry, state in (
        ({"guid": guid, "sha256": digest}, "same"),
        ({"guid": guid, "sha256": "0" * 64}, "replaced"),
        ({"guid": UNKNOWN_GUID, "sha256": digest}, "gone"),
    ):
        lock = {"entries": [{**entry, "version": run.code_mod["version"]}]}
        document = put_question(run, "plan/check", lock=lock).expect_document()
        require_equal("the state", [state], [checked["state"] for checked in document["entries"]])


@follow_check("C-SYNC-17")
def relations_of_a_mod_are_the_same_in_each_plan(run: Run) -> None:
    """Another string for each other set of requirements."""
    mods = run.mods[:10]
    plan = plan_for(run, *(mod["guid"] for mod in mods))
    relations = {step["guid"].lower(): step["relations"] for step in plan["steps"]}
    alone = plan_for(run, mods[0]["guid"])["steps"][-1]
    require_equal("relations in another plan", relations[mods[0]["guid"].lower()], alone["relations"])
    sides = {mod["guid"].lower(): _sides(mod) for mod in mods}
    for first, second in pairwise(mods):
        keys = first["guid"].lower(), second["guid"].lower()
        same = sides[keys[0]] == sides[keys[1]]
        require_equal("whether two mods have the same relations", same, relations[keys[0]] == relations[keys[1]])


def _sides(mod: dict[str, Any]) -> list[list[str]]:
    return [sorted(guid.lower() for guid in mod[side]) for side in ("requires", "conflictsWith")]


@follow_check("C-SYNC-9")
def a_plan_refuses_what_it_cannot_read(run: Run) -> None:
    """400 for no list, for what is no GUID, for too many."""
    for question in ({"want": "x"}, {"want": ["no-guid"]}, {}, {"want": [], "have": [{"guid": "x"}]}):
        put_question(run, "plan", **question).expect_error(400)
    put_question(run, "plan", want=[f"{UNKNOWN_GUID[:-3]}{number:03}" for number in range(501)]).expect_error(400)
