"""The number of what is unread, beside the entry in the navigation, and how a reader marks it as seen."""

import pytest
from sqlalchemy import update

from modhub.db import now, to_micros
from modhub_following import pages, read_service
from modhub_following.models import Reader
from modhub_testing.mods import hide_mod, restore_mod
from modhub_testing.pages import form_at, messages_on, new_visitor
from tests.people import register, write

HERE = "/Modhub/following"
SEEN = f"{HERE}/seen"


def unread(person, path="/Modhub"):
    """What stands beside the entry; empty if there is nothing."""
    mark = person.pages.get(path).html.select_one(f'header a[href="{HERE}"] .unread-count')
    return mark.text if mark else ""


@pytest.mark.postgres
def test_what_changed_since_it_is_followed_is_unread_until_it_is_marked(ada, bob):
    # C-FOL-13
    mod = ada.publish("Tool", games=["Portal"])
    for page, target in (
        (mod["url"], f"{mod['url']}/follow"),
        (f"/Modhub/by/{ada.id}", f"/Modhub/by/{ada.id}/follow"),
        ("/Modhub?game=Portal", "/Modhub/following/game?game=Portal"),
    ):
        bob.press(page, target)
    assert unread(bob) == ""  # what was there before is not new
    ada.upload(mod, "2")
    ada.upload(mod, "3")
    assert unread(bob) == "1"  # a mod, reached in three ways
    ada.publish("By the author", games=["Other"])
    register(ada.site, "Eve").publish("For the game", games=["portal"])
    register(ada.site, "Zoe").publish("Of nobody")
    bob.publish("My own", games=["Portal"])
    assert [unread(bob, path) for path in ("/Modhub", mod["url"], HERE, "/Modhub/mine", HERE)] == ["3"] * 5
    page = bob.pages.get(HERE)
    entry = page.html.select_one(f'header a[href="{HERE}"]')
    assert entry.select_one(".hidden").text == "3 new or updated"
    assert page.html.select_one("form.unread p").text == "3 new or updated mods"
    assert bob.press(HERE, SEEN).location.endswith(f"{HERE}?done=seen")
    done = bob.pages.get(f"{HERE}?done=seen")
    assert messages_on(done) == ["seen"]
    assert (unread(bob), done.html.select("form.unread")) == ("", [])
    ada.upload(mod, "4")
    assert (unread(bob), unread(ada)) == ("1", "")


@pytest.mark.postgres
def test_the_cards_of_what_is_unread_say_so(ada, bob):
    # C-FOL-13
    def marks():
        cards = bob.pages.get(HERE).html.select(".card")
        badges = {card.select_one("h3 a").text: card.select_one("h3 .badge") for card in cards}
        return {title: badge.text for title, badge in badges.items() if badge}

    old, mod = ada.publish("Old", games=["Portal"]), ada.publish("Tool", games=["Portal"])
    bob.follow(mod["url"])
    bob.follow(f"/Modhub/by/{ada.id}")
    bob.press("/Modhub?game=Portal", "/Modhub/following/game?game=Portal")
    assert marks() == {}
    bob.publish("My own", games=["Portal"])
    ada.upload(mod, "2")
    ada.publish("By the author")
    eve = register(ada.site, "Eve")
    theirs = eve.publish("For the game", games=["portal"])
    bob.follow(theirs["url"])
    eve.upload(theirs, "2")  # new for who follows the game, updated for who follows the mod
    assert marks() == {"For the game": "New", "By the author": "New", "Tool": "Updated"}
    bob.press(HERE, SEEN)
    assert marks() == {}
    ada.upload(old, "2")
    assert marks() == {"Old": "Updated"}
    # Elsewhere a card belongs to everybody.
    assert bob.pages.get(f"/Modhub/by/{ada.id}").html.select(".card .badge") == []


def test_what_nobody_sees_is_not_counted(site, ada, bob):
    # C-FOL-1, C-FOL-13
    mod = ada.publish("Tool")
    bob.follow(f"/Modhub/by/{ada.id}")
    draft = ada.draft("Draft")
    ada.upload(draft, "1")
    assert unread(bob) == ""
    ada.upload(mod, "2")
    hide_mod(site, mod)
    assert unread(bob) == ""
    restore_mod(site, mod)
    assert unread(bob) == "1"
    ada.call("delete", f"/api/modhub/{mod['id']}", status=204)
    assert unread(bob) == ""


def test_what_came_after_the_page_stays_unread(site, ada, bob):
    # C-FOL-13
    first, second = ada.publish("First"), ada.publish("Second")
    bob.follow(f"/Modhub/by/{ada.id}")
    ada.upload(first, "2")
    early = form_at(bob.pages.get(HERE), SEEN)
    ada.upload(second, "2")
    late = form_at(bob.pages.get(HERE), SEEN)
    assert early.submit(status=303)
    assert unread(bob) == "1"
    assert late.submit(status=303)
    assert unread(bob) == ""
    early.submit(status=303)  # a tab that was open for long undoes nothing
    assert unread(bob) == ""
    for wrong in ("", "x", "-1", "1" * 18, "１"):
        late["until"] = wrong
        late.submit(status=400)
    late["until"] = str(to_micros(now()) + 10**12)
    late.submit(status=303)
    ada.upload(first, "3")
    assert unread(bob) == "1"  # nobody marks the future
    write(site, update(Reader).values(seen_at=None))
    assert unread(bob) == "2"


def test_it_costs_one_statement_and_belongs_to_the_account(site, ada, bob, monkeypatch):
    # C-FOL-13
    mods = [ada.publish(f"Tool {number}") for number in range(3)]
    bob.follow(f"/Modhub/by/{ada.id}")
    for mod in mods:
        ada.upload(mod, "2")
    with site.counted() as statements:
        page = bob.pages.get("/Modhub")
    assert len([statement for statement in statements if "following_" in statement]) == 1
    assert page.headers["Cache-Control"] == "no-store"
    assert "ETag" not in page.headers
    with site.counted() as statements:
        bob.pages.get(HERE)
    assert len([statement for statement in statements if "core_public_game" in statement and "LIMIT" in statement]) == 2
    monkeypatch.setattr(pages, "UNREAD_MOST", 2)
    assert unread(bob) == "2+"
    assert read_service.UNREAD_MOST == 99
    visitor = new_visitor(site)
    with site.counted() as statements:
        assert "unread-count" not in visitor.get("/Modhub").text
    assert not [statement for statement in statements if "following_" in statement]
    assert "/Modhub/account/login" in visitor.post(SEEN, {"until": "1"}, status=303).location
    bob.pages.post(SEEN, {"until": "1"}, status=400)  # without the form's token
    assert bob.pages.get(SEEN, status=303).location.endswith(HERE)
