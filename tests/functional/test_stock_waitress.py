"""The main job on stock waitress, without modhub.server (ADR 015)."""

import pytest

from modhub_testing.form_browser import Browser
from modhub_testing.service import PASSWORD

pytestmark = [pytest.mark.long, pytest.mark.parametrize("kind", ["sqlite"], scope="module", indirect=True)]

CODE = b"PK\x03\x04" + bytes(range(256)) * 4096  # above what waitress keeps in memory


@pytest.fixture(scope="module")
def stock(services, kind):
    return services(kind, server={"use": "egg:waitress#main"})


def test_a_mod_is_published_found_downloaded_and_seen_in_the_workshop(stock):
    owner, visitor = stock.register("ada"), stock.caller()
    mod = owner.need(201, "POST", "/api/modhub", {"title": "Café HUD"})
    path = f"/api/modhub/{mod['id']}"
    assert visitor.ask("POST", f"{path}/code?name=hud.zip&version=1.0", CODE).status == 401
    assert owner.send_file(mod["id"], "code", CODE, version="1.0", name="hud.zip").status == 201
    owner.need(200, "POST", f"{path}/publish")
    listed = visitor.ask("GET", "/api/modhub?q=cafe")
    assert listed.headers["Server"] == "waitress"
    assert [entry["id"] for entry in listed.json["mods"]] == [mod["id"]]
    assert visitor.ask("GET", f"{path}/download").body == CODE
    part = visitor.ask("GET", f"{path}/download", headers={"Range": "bytes=4-9"})
    assert (part.status, part.body) == (206, CODE[4:10])
    large = visitor.ask("POST", "/api/auth/login", b" " * 70_000, {"Content-Type": "application/json"})
    assert (large.status, large.json["error"]) == (413, "too_large")
    browser = Browser(visitor)
    assert browser.post("/Modhub/account/login", {"email": "ada@example.org", "password": PASSWORD}).status == 303
    assert "Café HUD" in browser.get("/Modhub/mine").body.decode()
