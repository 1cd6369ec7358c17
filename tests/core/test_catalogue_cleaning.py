"""Cleaning owners' HTML is cheap, and nobody waits for it."""

import pytest

from modhub.catalogue import bodies
from modhub.catalogue.owning import texts
from modhub_testing.mods import OWNER, mod_address, new_mod, notes_of_mod, publish_test_mod, upload_asset
from modhub_testing.pages import form_at, make_mod_by_form, new_visitor

pytestmark = pytest.mark.slow

LONG = "<p>Words &amp; more.</p>" * 100


@pytest.fixture
def unlocked(site, monkeypatch):
    """The texts cleaned from now on. Cleaning fails while a transaction is open."""
    cleaned = []
    pool = site.databases.write_engine.pool

    def watching(clean):
        def watched(value, limit):
            assert pool.checkedout() == 0
            cleaned.append(value)
            return clean(value, limit)

        return watched

    for module in (bodies, texts):
        monkeypatch.setattr(module, "clean", watching(module.clean))
    return cleaned


def test_programs_words_are_cleaned_before_a_transaction_begins(site, unlocked):
    mod = new_mod(site, description=LONG)
    upload_asset(site, mod, "code", version="1")
    publish_test_mod(site, mod)
    own = site.as_account(OWNER)
    own.put_json(mod_address(mod), {"description": LONG + "2"})
    own.put_json(f"{mod_address(mod)}/changelog/{notes_of_mod(site, mod)[0]['id']}", {"text": LONG + "3"})
    assert unlocked == [LONG, LONG + "2", LONG + "3"]


def test_what_forms_bring_is_cleaned_before_a_transaction_begins(site, unlocked):
    author = new_visitor(site, OWNER)
    page = make_mod_by_form(author, title="A", description=LONG)
    url = page.request.path
    form = form_at(author.get(f"{url}?part=details"), url)
    form["description"] = LONG + "2"
    form.submit(status=303)
    mod = site.as_account(OWNER).get("/api/modhub/mine").json["mods"][0]
    upload_asset(site, mod, "code", version="1")
    note = form_at(author.get(f"{url}?part=changelog&entry=1"), f"{url}/changelog/1")
    note["text"] = LONG + "3"
    note.submit(status=303)
    assert {value for value in unlocked if value.startswith("<p>Words")} == {LONG, LONG + "2", LONG + "3"}


def test_a_body_full_of_games_is_not_cleaned_to_its_end(monkeypatch):
    looked = []
    line = bodies.text.line
    monkeypatch.setattr(bodies.text, "line", lambda value, limit: looked.append(value) or line(value, limit))
    assert bodies.clean_games(["a"] * 100_000) == ["a"]
    assert len(looked) == 1
    assert bodies.clean_games([" " * at for at in range(5_000)]) == []
    assert len(looked) <= 1_001
    assert not texts.are_games_truncated(["a"] * 100_000)
    assert texts.are_games_truncated([f"Game {at}" for at in range(100_000)])
    looked.clear()
    assert len(bodies.clean_games([f"Game {at}" for at in range(5_000)])) == 20
    assert len(looked) < 30
