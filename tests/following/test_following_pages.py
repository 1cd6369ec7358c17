"""Following on pages: the buttons, the page that lists what is new, limits, and what ends with whom."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from modhub_following import pages
from modhub_following.models import Follow, Reader
from modhub_testing.mods import hide_mod, restore_mod
from modhub_testing.pages import form_at, new_visitor
from tests.people import delete_person, register

pytestmark = pytest.mark.slow

HERE = "/Modhub/following"


def new(person, query=""):
    return [link.text for link in person.pages.get(HERE + query).html.select(".card h3 a")]


def listed(person):
    return [link.text for link in person.pages.get(HERE).html.select(".followed li > span a")]


def test_a_reader_follows_a_mod_an_author_and_a_game(site, ada, bob):
    # C-FOL-1, C-FOL-2
    mod = ada.publish("Tool")
    answer = bob.follow(mod["url"])
    assert answer.location.endswith(f"{mod['url']}#follow")
    page = bob.pages.get(mod["url"])
    assert page.html.select_one("form.follow button").text == "Unfollow"
    bob.follow(f"/Modhub/by/{ada.id}")
    bob.press("/Modhub?game=Portal+%26+2", "/Modhub/following/game?game=Portal+%26+2")
    assert listed(bob) == ["Portal & 2", "Ada", "Tool"]
    assert new(bob) == ["Tool"]
    # What is new there comes first; a mod that is reached in three ways is listed once.
    eve = register(ada.site, "Eve")
    eve.publish("By game", games=["portal & 2"])
    eve.publish("Of nobody followed", games=["Other"])
    ada.publish("By author", games=["Portal & 2"])
    ada.draft("Draft", games=["Portal & 2"])
    assert new(bob) == ["By author", "By game", "Tool"]
    ada.upload(mod, "2")
    assert new(bob)[0] == "Tool"
    # Each can be left on the page that lists them.
    for target in (f"{mod['url']}/follow", f"/Modhub/by/{ada.id}/follow", "/Modhub/following/game?game=Portal+%26+2"):
        assert bob.press(HERE, target).location.endswith(f"{HERE}#followed")
    assert listed(bob) == new(bob) == []
    assert site.count_rows(Follow) == 0


def test_an_owner_sees_how_many_follow_a_mod(site, ada, bob):
    # C-FOL-5
    mod, eve = ada.publish("Tool"), register(ada.site, "Eve")
    other = ada.publish("Other")

    def said(mod):
        page = ada.pages.get(f"/Modhub/mine/{mod['id']}?part=details")
        section = page.html.select_one('[aria-labelledby="followers"] p')
        return section.text if section else ""

    bob.follow(f"/Modhub/by/{ada.id}")
    assert said(mod) == ""  # who follows the author follows no single mod
    bob.follow(mod["url"])
    assert said(mod) == "1 account follows this mod."
    eve.follow(mod["url"])
    assert (said(mod), said(other)) == ("2 accounts follow this mod.", "")
    assert "followers" not in site.get(mod["url"])
    bob.press("/Modhub/following", f"{mod['url']}/follow")
    assert said(mod) == "1 account follows this mod."


def test_visitors_sign_in_first(site, ada, bob):
    # C-FOL-1
    mod = ada.publish()
    visitor = new_visitor(site)
    target = f"{mod['url']}/follow"
    link = visitor.get(mod["url"]).html.select_one(".follow a")
    assert (link.text, link["href"]) == ("Follow", target)
    assert "/Modhub/account/login?next=" in visitor.get(target, status=303).location
    # Back from signing in it leads to the button.
    assert bob.pages.get(target, status=303).location.endswith("#follow")
    visitor.post(target, {"follow": "1"}, status="*")
    assert "/Modhub/account/login" in visitor.get(HERE, status=303).location
    assert HERE not in visitor.get("/Modhub").text
    assert bob.pages.get("/Modhub").html.select_one(f'header a[href="{HERE}"]').text == "Following"
    # Without the token of a form nothing happens, and nobody follows their own.
    bob.pages.post(f"{mod['url']}/follow", {"follow": "1"}, status=400)
    assert ada.pages.get(mod["url"]).html.select(".follow") == []
    assert ada.pages.get(f"/Modhub/by/{ada.id}").html.select(".follow") == []
    assert site.count_rows(Follow) == 0


def test_what_nobody_sees_cannot_be_followed_and_is_not_shown(site, ada, bob):
    # C-FOL-1
    draft, mod = ada.draft("Draft"), ada.publish("Hidden")
    bob.follow(mod["url"])
    bob.follow(f"/Modhub/by/{ada.id}")
    token = form_at(bob.pages.get(HERE), HERE)["csrf_token"].value
    hide_mod(site, mod)
    assert new(bob) == []
    # Ada's page, and what the button posts to, are 404 as well.
    assert listed(bob) == []
    bob.pages.get(f"/Modhub/by/{ada.id}", status=404)
    sent = {"csrf_token": token, "follow": "1"}
    answers = [
        bob.pages.post(address, sent, status=404).text.replace(address, "")
        for address in (f"{mod['url']}/follow", f"/Modhub/{draft['id']}/follow", "/Modhub/999/follow")
    ]
    assert len(set(answers)) == 1
    for address in (
        f"/Modhub/by/{ada.id}/follow",
        f"/Modhub/by/{bob.id}/follow",
        "/Modhub/by/999/follow",
        "/Modhub/following/game",
    ):
        bob.pages.post(address, sent, status=404)
    restore_mod(site, mod)
    assert (new(bob), listed(bob)) == (["Hidden"], ["Ada", "Hidden"])
    bob.pages.post(f"{mod['url']}/follow", {"csrf_token": token, "follow": "x"}, status=400)


@pytest.mark.postgres
def test_an_account_follows_so_many_and_each_once(site, ada, bob):
    # C-FOL-5
    token = form_at(bob.pages.get(HERE), HERE)["csrf_token"].value

    def send(name):
        visitor = new_visitor(site)
        for cookie in bob.pages.cookiejar:
            visitor.set_cookie(cookie.name, cookie.value)
        sent = {"csrf_token": token, "follow": "1"}
        return int(visitor.post(f"/Modhub/following/game?game={name}", sent, status="*").status_int)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(send, ["Portal"] * 4)) <= {303, 503}
    assert site.count_rows(Follow) == 1
    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(send, [f"Game{number}" for number in range(6)]))
    assert site.count_rows(Follow) == 4
    assert set(statuses) <= {303, 409, 503}
    assert send("PORTAL") == 303
    assert send("More") == 409
    assert site.count_rows(Follow) == 4


def test_what_is_new_is_paged_without_hidden_mods(ada, bob, site, monkeypatch):
    # C-FOL-2, C-FOL-1
    mods = [ada.publish(f"Mod {number}") for number in range(3)]
    for mod in mods:
        bob.follow(mod["url"])
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    assert bob.pages.get(HERE).html.find("a", rel="next")["href"] == f"{HERE}?page=2"
    assert [new(bob), new(bob, "?page=2")] == [["Mod 2", "Mod 1"], ["Mod 0"]]
    hide_mod(site, mods[1])
    assert bob.pages.get(HERE).html.find("a", rel="next") is None
    assert new(bob) == ["Mod 2", "Mod 0"]


@pytest.mark.postgres
def test_following_ends_with_the_mod_and_with_the_account(site, ada, bob):
    # C-FOL-5
    mod, _other = ada.publish("Tool"), ada.publish("Other")
    bob.follow(mod["url"])
    bob.follow(f"/Modhub/by/{ada.id}")
    eve = register(ada.site, "Eve")
    eve.press("/Modhub?game=portal", "/Modhub/following/game?game=portal")
    ada.call("delete", f"/api/modhub/{mod['id']}", status=204)
    assert listed(bob) == ["Ada"]
    delete_person(site, ada.id)
    assert listed(bob) == []
    assert site.count_rows(Follow) == 1
    delete_person(site, eve.id)
    assert (site.count_rows(Follow), site.count_rows(Reader)) == (0, 1)
