"""Every check of the part publish is red on a service that breaks what it is about."""

from collections.abc import Callable
from typing import Any

import pytest

from modhub_client.verify import owner
from modhub_client.verify.parts import CHECKS
from modhub_testing.broken_service import Fault, answers, body, document, header, receives_body, status, when

from .conftest import Verified

pytestmark = pytest.mark.long

PAGES = ".*/api/(modhub/)?wiki/.*"


def put(**fields: Any) -> Callable[[Any], None]:
    return lambda value: value.update(fields)


FAULTS: dict[str, list[Fault]] = {
    "the key is valid": [document("GET .*/key", put(scopes=[]))],
    "other keys are refused": [status("GET .*/key", 200)],
    "the key is no address key and no token": [when("GET .*/key", lambda *_: True, 200)],
    "bad platforms are refused": [status("POST .*/app/a--b", 201)],
    "bad builds are refused": [receives_body(r"POST .*/app/modhub-verify\?.*", lambda sent: sent or b"x")],
    "bad sections are refused": [when("POST .*/changelog", lambda request, _: b"\xff" in request.body, 201)],
    "a build that is declared too large is refused at once": [
        document("POST .*/app/.*", lambda value: value.pop("limitBytes"))
    ],
    "bad paths are refused": [status("PUT .*/wiki/_a", 404)],
    "bad pages are refused": [receives_body(f"PUT {PAGES}", lambda sent: sent.replace(b"\xff", b"x"))],
    "a page is published and changed": [status(f"PUT {PAGES}", 201, only=200)],
    "a page is read as it was sent": [header(f"GET {PAGES}", "ETag", None)],
    "the older address answers the same": [body("GET /api/modhub/wiki/.*", bytes.upper)],
    "a removed page is gone": [answers(f"DELETE {PAGES}", 204)],
    "builds are published and kept": [document("POST .*/app/modhub-verify.*", put(newest="/Modhub/App"))],
    "a section is put on top and taken back": [document("POST .*/changelog", put(characters=99))],
}
"""What is broken, by the name of the check that must notice it."""
PUBLISH = {check.name: check for check in CHECKS if check.part == "publish"}


def test_every_check_has_a_fault() -> None:
    assert sorted(PUBLISH) == sorted(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_turns_its_check_red(verified: Verified, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.0)
    assert verified.find_broken(PUBLISH[name], FAULTS[name])
