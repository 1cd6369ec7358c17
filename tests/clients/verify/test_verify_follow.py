"""Every check of the part follow is red on a service that breaks what it is about."""

import gzip
from collections.abc import Callable
from typing import Any

import pytest
from pyramid.response import Response

from modhub_client.verify.parts import CHECKS
from modhub_client.verify.run import UNKNOWN_GUID
from modhub_testing.broken_service import Fault, answers, asks, at, body, document, header, ignores, receives, status

from .conftest import Verified

pytestmark = pytest.mark.long

LOOKUP = "/api/modhub/lookup"
UPDATES = "/api/modhub/updates"
PLAN = "/api/modhub/plan"
LOCK = "/api/modhub/plan/check"
CHANGES = "/api/modhub/changes"
POINTER = "/api/modhub/snapshot"
SNAPSHOT = "/Modhub/snapshot/[0-9a-f]{64}"
BY_GUID = "/api/modhub/guid/.*"


def refusing(path: str, is_refused: Callable[[Any], bool]) -> Fault:
    """400 for requests that are fine."""
    return Fault(at(path), lambda request: Response(status=400) if is_refused(request) else None)


def reversed_lines(body: bytes) -> bytes:
    lines = gzip.decompress(body).splitlines(keepends=True)
    return gzip.compress(b"".join(lines[1:]))


def resurrected(body: bytes) -> bytes:
    """The snapshot with a mod that was deleted, whose GUID is that of the changes."""
    return gzip.compress(gzip.decompress(body) + b'{"guid": "%s"}\n' % UNKNOWN_GUID.encode())


def long_deleted(page: Any) -> None:
    for change in page["changes"]:
        if change["what"] == "deleted":
            change.update(guid=UNKNOWN_GUID, at="2020-01-01T00:00:00.000000Z")


def each_change(change_one: Callable[[Any], object], path: str = CHANGES) -> Fault:
    return document(at(path), lambda page: [change_one(change) for change in page["changes"]])


def with_id(change: Any) -> None:
    change.setdefault("id", 1)


def with_guid(change: Any) -> None:
    change.setdefault("guid", UNKNOWN_GUID)


def every_step(change: Callable[[Any], object]) -> Fault:
    return document(at(PLAN), lambda plan: [change(step) for step in plan["steps"]])


def same_relations(step: Any) -> None:
    step["relations"] = "0" * 16


def wrong_path(step: Any) -> None:
    step["because"] = list(reversed(step["because"])) if len(step["because"]) > 1 else []


def first_excludes(plan: Any) -> None:
    for conflict in plan["conflicts"]:
        for entry in conflict["pair"]:
            entry["excludes"] = not entry["excludes"]


def without_notes(updates: Any) -> None:
    for changed in updates["changed"]:
        changed["changelog"] = [{"id": 0}]


def first_guids(question: Any) -> None:
    if isinstance(question.get("guids"), list):
        question["guids"] = question["guids"][:500]


def unchanged_relations(updates: Any) -> None:
    if "relationsChanged" in updates:
        updates.update(relationsChanged=[], relations=[])


def all_same(lock: Any) -> None:
    for entry in lock.get("entries", []):
        entry["state"] = "same"


def compressed_anyway(request: Any, response: Any) -> None:
    response.headers["ETag"] = '"kept"'


def stricter(request: Any) -> bool:
    return b"unheard-of" in request.body


FAULTS: dict[str, list[Fault]] = {
    "a mod is read by its guid": [header(at(BY_GUID), "Link", None)],
    "a lookup has mods in the order asked": [document(at(LOOKUP), lambda looked_up: looked_up["mods"].reverse())],
    "a lookup refuses what is no list of guids": [receives(at(LOOKUP), first_guids)],
    "an update check compares files": [
        receives(at(UPDATES), lambda question: [entry.pop("sha256", None) for entry in question["have"]])
    ],
    "an update check has the newest entries": [document(at(UPDATES), without_notes)],
    "an update check says whose relations changed": [document(at(UPDATES), unchanged_relations)],
    "a digest has 64 hexadecimal digits": [status(at(LOCK), 200)],
    "answers to questions are compressed and not kept": [Fault(at(UPDATES), after=compressed_anyway)],
    "a body that is no json object is 400": [status(at(LOOKUP), 200)],
    "a field of the wrong type is named": [
        document(at(PLAN), lambda error: "message" in error and error.update(message="It is wrong."))
    ],
    "unknown and doubled fields are no error": [refusing(LOOKUP, stricter)],
    "the type of a json body does not matter": [
        refusing(LOOKUP, lambda request: request.content_type != "application/json")
    ],
    "changes come by rising serial": [document(at(CHANGES), lambda page: page["changes"].reverse())],
    "changes have an etag": [ignores(at(CHANGES), "If-None-Match")],
    "nothing new costs at most 500 bytes": [header(at(CHANGES), "X-Padding", "x" * 400, only=304)],
    "each mod is in the changes once": [each_change(with_id)],
    "a deleted mod is gone everywhere": [answers(at(BY_GUID), 200, b"{}")],
    "builds and games are changes without a guid": [each_change(with_guid)],
    "another feed begins again": [asks(at(CHANGES), lambda query: query.pop("feed", None))],
    "parameters of changes are numbers": [
        asks(at(CHANGES), lambda query: query.update(since="0") if query.get("since") == "-1" else None)
    ],
    "the pointer names a snapshot": [document(at(POINTER), lambda pointer: pointer.update(bytes=1))],
    "a snapshot with the changes after it is the catalogue": [body(at(SNAPSHOT), reversed_lines)],
    "a snapshot has the digest of its pointer": [body(at(SNAPSHOT), reversed_lines)],
    "no snapshot has a mod that was deleted": [
        body(at(SNAPSHOT), resurrected),
        document(at(CHANGES), long_deleted),
    ],
    "a signature has a public key": [status(at(f"{POINTER}/key"), 404)],
    "an unknown snapshot is 404": [status(at("/Modhub/snapshot/no-digest"), 200)],
    "a plan has the steps of install": [document(at(PLAN), lambda plan: plan.update(bytes=plan["bytes"] + 1))],
    "a plan keeps what is there and updates the rest": [every_step(lambda step: step.update(action="install"))],
    "a step says by which mods it is required": [every_step(wrong_path)],
    "a step names the file to download": [every_step(lambda step: step.update(name="another"))],
    "a plan names what is missing and who requires it": [
        document(at(PLAN), lambda plan: [entry.update(requiredBy=[]) for entry in plan["missing"]])
    ],
    "a plan names each pair that excludes one another": [document(at(PLAN), first_excludes)],
    "a plan without reasons is the same otherwise": [
        receives(at(PLAN), lambda question: question.pop("because", None))
    ],
    "a lock has the digest of its entries": [document(at(PLAN), lambda plan: plan["lock"].update(digest="0" * 64))],
    "a lock can be checked": [document(at(LOCK), all_same)],
    "relations of a mod are the same in each plan": [every_step(same_relations)],
    "a plan refuses what it cannot read": [
        receives(at(PLAN), lambda question: question.update(want=question.get("want") or []))
    ],
}
"""What is broken, by the name of the check that must notice it."""
FOLLOWING = {check.name: check for check in CHECKS if check.part == "follow"}


def test_every_check_has_a_fault() -> None:
    assert sorted(FOLLOWING) == sorted(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_turns_its_check_red(verified: Verified, name: str) -> None:
    told = verified.find_broken(FOLLOWING[name], FAULTS[name])
    # What was broken is told, not a shape that nobody thought of.
    assert told
    assert "another shape" not in told
