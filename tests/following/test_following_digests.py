"""Digests: who gets them, each change once, in which language, and how they are left."""

from datetime import timedelta
from functools import partial
from urllib.parse import quote

import pytest
from sqlalchemy import select, update

from modhub.catalogue.models import Mod, Note
from modhub_auth.container import AuthServices
from modhub_following.digests import make_digests, unlinked
from modhub_following.models import Follow, Reader
from modhub_following.services import leave_token
from modhub_testing.clocks import on_a_machine_that_is_ahead
from modhub_testing.mods import hide_mod
from modhub_testing.pages import form_at, messages_on, new_visitor
from modhub_testing.workers import run_worker
from tests.people import block, read, register, text_of, write

from .conftest import restore

pytestmark = pytest.mark.postgres

HERE = "/Modhub/following"


@pytest.fixture
def follower(ada, bob):
    """Bob follows Ada, who has published "Tool", and gets digests daily."""
    ada.publish("First")
    bob.follow(f"/Modhub/by/{ada.id}")
    bob.get_digests("daily")
    return bob


def make(site, **options):
    return list(make_digests(site.registry, **options))


def let_pass(site, **time):
    with site.databases.write_session.begin() as session:
        for reader in session.scalars(select(Reader)):
            reader.sent_at = None if reader.sent_at is None else reader.sent_at - timedelta(**time)


def test_a_digest_says_each_change_once(site, ada, follower):
    # C-FOL-7, C-FOL-8
    assert make(site) == []  # what was there before is not new
    mod = ada.publish("Café HUD", "1.4", games=["Portal"])
    ada.upload(mod, "1.5", changes="<p>Faster. See <a href='https://evil.example/x'>evil.example/x</a></p>")
    assert make(site) == [(follower.id, 2)]
    (message,) = follower.digests()
    text = text_of(message)
    assert message["Subject"] == "2 new versions at modhub"
    assert text.index("Café HUD 1.5") < text.index("Café HUD 1.4")
    assert "Faster. See evil example x" in text
    assert "by Ada" in text
    assert f"/Modhub/{mod['id']}\n" in text
    assert "evil.example" not in message.as_string()
    html = message.get_body(("html",))
    assert html is not None
    # The title is the link, so that no bare address stands between the entries.
    address = f"http://127.0.0.1:6543/Modhub/{mod['id']}"
    assert f'<h2><a href="{address}">Café HUD 1.5</a></h2>' in html.get_content()
    assert f">{address}</a>" not in html.get_content()
    assert "<hr>\n<p>What you follow" in html.get_content()  # and not a part of the last entry
    # Nothing is said twice, and no digest comes sooner than chosen.
    let_pass(site, days=2)
    assert make(site) == []
    ada.upload(mod, "1.6")
    assert make(site) == [(follower.id, 1)]
    ada.upload(mod, "1.7")
    ada.upload(mod, "1.8")
    assert make(site) == []
    let_pass(site, hours=24)
    assert make(site) == [(follower.id, 2)]
    assert [len(person.digests()) for person in (follower, ada)] == [3, 0]
    # Another frequency loses nothing that waits.
    ada.upload(mod, "1.8.1")
    follower.get_digests("weekly")
    ada.upload(mod, "1.9")
    let_pass(site, days=6)
    assert make(site) == []
    let_pass(site, days=1)
    assert make(site) == [(follower.id, 2)]
    # What came while there was no digest is not new to the next one.
    follower.get_digests("none")
    ada.upload(mod, "2.0")
    follower.get_digests("daily")
    let_pass(site, days=1)
    assert make(site) == []
    ada.upload(mod, "2.1")
    assert make(site) == [(follower.id, 1)]


def test_a_version_is_new_since_its_mod_is_published(site, ada, bob):
    # C-FOL-7: it may have been uploaded long before, and only the version that was published is said.
    draft = ada.draft("Café HUD")
    ada.upload(draft, "0.9")
    ada.upload(draft, "1.0")
    ada.publish("First")
    bob.follow(f"/Modhub/by/{ada.id}")
    bob.get_digests("daily")
    assert make(site) == []
    ada.call("post", f"/api/modhub/{draft['id']}/publish")
    ada.call("put_json", f"/api/modhub/{draft['id']}", params={"description": "<p>Edited</p>"})
    assert make(site) == [(bob.id, 1)]
    assert "Café HUD 1.0" in text_of(bob.digests()[0])
    # An edit is no version, however long nothing was said.
    let_pass(site, days=2)
    ada.call("put_json", f"/api/modhub/{draft['id']}", params={"description": "<p>Edited again</p>"})
    assert make(site) == []


def test_followers_of_mods_and_games_hear_too(site, ada, bob):
    # C-FOL-7
    mod = ada.publish("Tool", games=["Portal"])
    eve = register(ada.site, "Eve")
    bob.follow(mod["url"])
    eve.press("/Modhub?game=PORTAL", "/Modhub/following/game?game=PORTAL")
    for person in (bob, eve, ada):
        person.get_digests("daily")
    ada.press("/Modhub?game=portal", "/Modhub/following/game?game=portal")
    ada.upload(mod, "2")
    ada.publish("Other", games=["portal"])
    # Nobody is told of their own mods.
    assert sorted(make(site)) == [(bob.id, 1), (eve.id, 2)]


def test_a_digest_says_what_is_new_as_it_is_now(site, ada, follower):
    # C-FOL-7, C-PAGE-70: the words are there as soon as the version is, and not after their entry is gone.
    mod = ada.publish("Second")
    here = f"/Modhub/mine/{mod['id']}"
    make(site)
    follower.digests()
    let_pass(site, days=1)
    form = form_at(ada.pages.get(here), f"{here}/code")
    assert form["version"].value == "2"
    form["file"], form["text"] = (
        ("a.zip", b"x", "application/zip"),
        "## Fixed\n\n- laps\n- <i>ghosts</i>\n\n" + "word " * 90,
    )
    form["format"] = "markdown"
    form.submit(status=303)
    ada.upload(mod, "3", changes="<p>Taken back</p>")
    (note, *_) = site.get(f"/api/modhub/{mod['id']}/changelog").json["notes"]
    ada.call("put_json", f"/api/modhub/{mod['id']}/changelog/{note['id']}", params={"text": ""})
    assert make(site) == [(follower.id, 2)]
    said = text_of(follower.digests()[-1])
    assert "laps. ghosts. word word" in " ".join(said.split())
    assert max(map(len, said.split("http")[0].split("Second"))) < 500
    assert "Taken back" not in said


def test_only_what_everybody_sees_and_only_to_whom_it_may_go(site, ada, follower):
    # C-FOL-7, C-FOL-9
    unconfirmed, blocked, silent = (register(ada.site, name, confirmed=name != "Una") for name in ("Una", "Bea", "Sil"))
    for person in (unconfirmed, blocked, silent):
        person.follow(f"/Modhub/by/{ada.id}")
    for person in (unconfirmed, blocked):
        person.get_digests("daily")
    following = unconfirmed.pages.get(HERE)
    assert "no_address" in messages_on(following)
    assert following.html.select_one("[data-message=no_address] a")["href"] == "/Modhub/account"
    draft, hidden, deleted = ada.draft("Draft"), ada.publish("Hidden"), ada.publish("Deleted")
    ada.upload(draft, "1")
    hide_mod(site, hidden)
    block(site, blocked.id)
    ada.call("post", f"/api/modhub/{ada.publish('Seen')['id']}/publish")
    ada.call("delete", f"/api/modhub/{deleted['id']}", status=204)
    assert make(site) == [(follower.id, 1)]
    text = text_of(follower.digests()[0])
    assert "Seen" in text
    assert not any(title in text for title in ("Draft", "Hidden", "Deleted"))
    assert [person.digests() for person in (unconfirmed, blocked, silent)] == [[], [], []]
    # A mod that is hidden between the upload and the digest is not in it.
    mod = ada.publish("Later hidden")
    assert make(site) == []
    hide_mod(site, mod)
    let_pass(site, days=1)
    assert make(site) == []


@pytest.mark.slow
def test_a_digest_is_left_by_one_post(site, ada, follower):
    # C-FOL-10, C-TOK-8
    ada.publish("Tool")
    make(site)
    (message,) = follower.digests()
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    address = message["List-Unsubscribe"].strip("<>")
    assert address in text_of(message)
    base = site.registry.settings["modhub.base_url"]
    path = address.removeprefix(base)
    assert path.startswith(f"{HERE}/leave?token={follower.id}.")
    raw = next(line for line in message.as_bytes().splitlines() if line.startswith(b"List-Unsubscribe:"))
    assert raw.decode() == f"List-Unsubscribe: <{address}>"
    # Reading it, as programs that check emails do, changes nothing.
    stranger = new_visitor(site)
    page = stranger.get(path)
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert [button.text for button in page.html.select("main button")] == ["Unsubscribe"]
    assert frequency(site, follower) == "daily"
    # A mail program posts without cookies, token or Origin.
    for _ in range(2):
        answer = stranger.post(path, "List-Unsubscribe=One-Click", status=200)
        assert messages_on(answer) == ["left"]
    assert frequency(site, follower) == "none"
    assert follower.pages.get(HERE).html.select_one("option[selected]")["value"] == "none"
    ada.publish("More")
    let_pass(site, days=2)
    assert make(site) == []
    # By the button of the page as well.
    follower.get_digests("daily")
    page.forms[0].submit("List-Unsubscribe", status=200)
    assert frequency(site, follower) == "none"
    # A database that lost its newest rows gives the number of the account out again.
    write(site, update(Reader).where(Reader.account_id == follower.id).values(random_id="b" * 32))
    ada.get_digests("daily")
    right = leave_token(follower.id, "b" * 32)
    others = leave_token(ada.id, "b" * 32)
    for wrong in ("", path.partition("=")[2], others, f"0{right}", f"{right}0", right[:-1], f"{follower.id}.ü"):
        for method in (stranger.get, stranger.post):
            method(f"{HERE}/leave", {"token": wrong} if method == stranger.get else "", status=404)
        # C-OWN-13: nobody waits for the write lock to be refused.
        with site.counted() as statements:
            stranger.post(f"{HERE}/leave?token={quote(wrong)}", status=404)
        assert not [statement for statement in statements if statement.startswith("BEGIN")]


def frequency(site, person):
    (chosen,) = read(site, select(Reader.frequency).where(Reader.account_id == person.id))
    return chosen


def test_a_digest_is_in_the_language_that_was_used(site, ada, bob):
    # C-FOL-8
    mod = ada.publish("Tool")
    bob.follow(mod["url"])
    forms = bob.pages.get(HERE, headers={"Accept-Language": "de"}).forms
    chosen = next(form for form in forms.values() if "frequency" in form.fields)
    chosen["frequency"] = "weekly"
    chosen.submit(headers={"Accept-Language": "de"}, status=303)
    ada.upload(mod, "2")
    make(site)
    (message,) = bob.digests()
    assert message["Subject"] == "1 neue Version auf modhub"
    assert "von Ada" in text_of(message)


def test_it_is_whole_or_not_at_all(site, ada, follower, monkeypatch):
    # C-FOL-8
    ada.publish("Tool")
    outbox = site.find_service(AuthServices).outbox
    queue = type(outbox).queue

    def fail(*arguments):
        queue(outbox, *arguments)
        raise RuntimeError

    monkeypatch.setattr(outbox, "queue", fail)
    with pytest.raises(RuntimeError):
        make(site)
    assert follower.digests() == []
    monkeypatch.undo()
    assert make(site) == [(follower.id, 1)]
    assert len(follower.digests()) == 1


def test_the_schedule_lets_versions_rest_and_works_once(site, ada, follower):
    # C-FOL-8
    ada.publish("Tool")
    run = partial(run_worker, site.registry, "digests")
    assert run()
    assert follower.digests() == []  # its author may still write what changed
    with site.databases.write_session.begin() as session:
        for rows, column, ago in (
            (Mod, "published_at", 11),
            (Note, "created_at", 11),
            (Follow, "created_at", 12),
            (Reader, "told_until", 12),
        ):
            for row in session.scalars(select(rows)):
                setattr(row, column, getattr(row, column) - timedelta(minutes=ago))
    assert run()
    assert run()
    assert len(follower.digests()) == 1


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_machine_whose_clock_is_ahead_loses_no_version_and_sends_none_too_soon(site, ada, bob):
    # C-FOL-7
    mod = ada.publish("Tool")
    with on_a_machine_that_is_ahead():
        bob.follow(mod["url"])
        bob.get_digests("daily")
    ada.upload(mod, "2")
    with on_a_machine_that_is_ahead():
        assert make(site) == [(bob.id, 1)]
    ada.upload(mod, "3")
    assert make(site) == [], "a second digest on one day"


def test_a_restore_says_nothing_twice(site, ada, follower):
    # C-FOL-8
    ada.publish("Tool")
    assert any("Digests begin" in note for note in restore(site))
    assert make(site) == []
    ada.publish("New")
    assert make(site) == [(follower.id, 1)]
    restore(site)
    assert follower.digests() == []  # held like other emails


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See https://evil.example/x?y", "See evil example x?y"),
        ("a@b.example", "a b example"),
        ("Version 1.4.2 is faster. Really: yes", "Version 1.4.2 is faster. Really: yes"),
        ("i❤.ws and ws.❤", "i❤. ws and ws. ❤"),
        ("evil。com evil．com evil｡com", "evil。 com evil． com evil｡ com"),
    ],
)
def test_texts_of_authors_are_no_links(text, shown):
    assert " ".join(unlinked(text).split()) == shown
