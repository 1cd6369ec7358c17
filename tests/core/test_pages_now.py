"""Pages show what is so now, in every process, and nothing of a draft."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from modhub.ui.template_helpers import PageHelpers
from modhub_testing import Site, Start
from modhub_testing.mods import OWNER, notes_of_mod, published_mod, upload_asset


def changes(site: Site, mod: Any, other: Any) -> dict[str, tuple[Callable[[], object], str]]:
    """What can happen to a mod: (the change, a text that its page shows only afterwards)."""
    own, voter = site.as_account(OWNER), site.as_account(8)
    url = f"/api/modhub/{mod['id']}"
    note = notes_of_mod(site, mod)[0]["id"]
    return {
        "title": (lambda: own.put_json(url, {"title": "Renamed"}), "Renamed"),
        "vote": (lambda: voter.put_json(f"{url}/vote", {"value": -1}), ">1 vote<"),
        "code": (lambda: upload_asset(site, mod, "code", b"x" * 5000, version="2"), "4.9\u00a0KB"),
        "image": (
            lambda: upload_asset(site, mod, "images", b"x", content_type="image/png", name="view.png"),
            "view.png",
        ),
        "note": (lambda: own.put_json(f"{url}/changelog/{note}", {"text": "<p>Mended it.</p>"}), "Mended it."),
        "conflict": (lambda: own.put_json(url, {"conflictsWith": [other["guid"]]}), "Conflicts with"),
        "rival": (lambda: own.put_json(f"/api/modhub/{other['id']}", {"title": "Quarrel"}), "Quarrel"),
        "user": (lambda: published_mod(site, 9, "User", requires=[mod["guid"]]), "Required by"),
    }


def test_a_change_is_on_the_page_at_once_in_every_process(start: Start) -> None:
    writer = start()
    reader = start(url=writer.registry.settings["sqlalchemy.url"])
    mod = published_mod(writer, title="Before", games=["Portal"])
    other = published_mod(writer, title="Other mod")
    for name, (change, text) in changes(writer, mod, other).items():
        assert text not in reader.get(mod["url"]).text, name
        change()
        for site in (reader, writer):
            assert text in site.get(mod["url"]).text, name
    assert "Renamed" in reader.get("/Modhub").text
    writer.as_account(OWNER).delete(f"/api/modhub/{mod['id']}")
    reader.get(mod["url"], status=404)
    assert "Renamed" not in reader.get("/Modhub").text


def test_ages_advance(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    mod = published_mod(site)
    for address in ("/Modhub", mod["url"]):
        assert "just now" in site.get(address).text
    now = PageHelpers.now.func  # type: ignore[attr-defined]
    monkeypatch.setattr(PageHelpers, "now", property(lambda tools: now(tools) + timedelta(days=3)))
    for address in ("/Modhub", mod["url"]):
        page = site.get(address).text
        assert "3 days ago" in page
        assert "just now" not in page
