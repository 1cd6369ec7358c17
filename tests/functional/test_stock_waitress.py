"""The main job on stock waitress, without modhub.server (ADR 015)."""

import re
from urllib.parse import urlencode

import pytest

from modhub_testing.caller import CallerResponse
from modhub_testing.service import PASSWORD, Installation

pytestmark = pytest.mark.long

CODE = b"PK\x03\x04" + bytes(range(256)) * 4096  # above what waitress keeps in memory
IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(1000)


@pytest.fixture(scope="module")
def stock(services, kind) -> Installation:
    return services(kind, server={"use": "egg:waitress#main"})


@pytest.fixture(scope="module")
def mod(stock: Installation):
    """A mod that was created, filled and published there."""
    owner = stock.register("ada")
    created = owner.need(201, "POST", "/api/modhub", {"title": "Café HUD", "games": ["Portal 2"]})
    assert owner.send_file(created["id"], "code", CODE, version="1.0", name="hud.zip").status == 201
    assert owner.send_file(created["id"], "images", IMAGE, "image/png", name="shot.png").status == 201
    return owner.need(200, "POST", f"/api/modhub/{created['id']}/publish")


def test_it_is_waitress_that_answers(stock, mod):
    assert stock.caller().ask("GET", "/api/modhub").headers["Server"] == "waitress"


def test_a_published_mod_is_found(stock, mod):
    listed = stock.caller().need(200, "GET", "/api/modhub?q=cafe&game=portal+2")
    assert [entry["id"] for entry in listed["mods"]] == [mod["id"]]


def test_its_file_is_downloaded_whole_and_in_part(stock, mod):
    path = f"/api/modhub/{mod['id']}/download"
    assert stock.caller().ask("GET", path).body == CODE
    part = stock.caller().ask("GET", path, headers={"Range": "bytes=4-9"})
    assert (part.status, part.body) == (206, CODE[4:10])


def test_a_body_without_a_credential_and_one_that_is_too_large_are_refused(stock, mod):
    path = f"/api/modhub/{mod['id']}/code?name=hud.zip&version=2.0"
    assert stock.caller().ask("POST", path, CODE).status == 401
    large = stock.caller().ask("POST", "/api/auth/login", b" " * 70_000, {"Content-Type": "application/json"})
    assert (large.status, large.json["error"]) == (413, "too_large")


def test_a_form_signs_in_and_its_session_opens_the_workshop(stock, mod):
    page = stock.caller().ask("GET", "/Modhub/account/login")
    token = re.search(rb'name="csrf_token" value="([0-9a-f]+)"', page.body)
    assert token is not None
    fields = {"csrf_token": token[1].decode(), "email": "ada@example.org", "password": PASSWORD}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookies(page)}
    signed_in = stock.caller().ask("POST", "/Modhub/account/login", urlencode(fields), headers)
    assert signed_in.status == 303, signed_in
    workshop = stock.caller().ask("GET", "/Modhub/mine", headers={"Cookie": cookies(signed_in)})
    assert "Café HUD" in workshop.body.decode()


def cookies(response: CallerResponse) -> str:
    return "; ".join(cookie.partition(";")[0] for cookie in response.headers.get_all("Set-Cookie"))
