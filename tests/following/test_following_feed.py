"""The private feed of what an account follows: whose it is, what it has, and how its address ends."""

import json
import logging
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sqlalchemy import select, update

from modhub.db import now
from modhub_auth.models import Account
from modhub_following.models import Reader
from modhub_testing.mods import hide_mod
from modhub_testing.pages import messages_on, new_visitor
from tests.people import actions, delete_person, register, write

from .conftest import restore

HERE = "/Modhub/following"
ADDRESS = f"{HERE}/feed-address"
ATOM = "{http://www.w3.org/2005/Atom}"


def press(person, choice):
    page = person.pages.get(HERE)
    form = next(form for form in page.forms.values() if form.action == ADDRESS)
    return form.submit("do", value=choice)


def make_feed(person):
    """The paths of the Atom and of the JSON feed."""
    page = press(person, "create")
    assert (page.status_int, messages_on(page)) == (200, ["feed_address"])
    assert page.headers["Cache-Control"] == "no-store"
    atom, twin = (code.text for code in page.html.select("code[data-copy]"))
    base = person.site.registry.settings["modhub.base_url"]
    assert atom.startswith(f"{base}{HERE}/feed?token=")
    assert twin.startswith(f"{base}{HERE}/feed.json?token=")
    return atom.removeprefix(base), twin.removeprefix(base)


def titles(site, path):
    root = ElementTree.fromstring(new_visitor(site).get(path).body)
    return [str(title.text) for title in root.findall(f"{ATOM}entry/{ATOM}title")]


NGINX = Path(__file__).parents[2] / "deploy" / "nginx.conf"


@pytest.fixture
def follower(ada, bob):
    ada.publish("Tool", "1")
    bob.follow(f"/Modhub/by/{ada.id}")
    return bob


@pytest.mark.postgres
def test_a_feed_reader_without_a_session_gets_what_is_followed(site, ada, follower):
    # C-FOL-14
    atom, twin = make_feed(follower)
    other, draft = ada.publish("Other", "1", games=["Portal"]), ada.draft("Draft")
    ada.upload(draft, "1")
    ada.upload(other, "2", changes="<p>Faster.</p>")
    register(ada.site, "Eve").publish("Of nobody followed")
    assert titles(site, atom) == ["Other 2", "Other 1", "Tool 1"]
    ids = {new_visitor(site).get(atom).xml.findtext("{http://www.w3.org/2005/Atom}id") for _ in range(2)}
    assert [feed_id[:9] for feed_id in ids] == ["urn:uuid:"]
    feed = new_visitor(site).get(twin)
    assert [item["title"] for item in feed.json["items"]] == ["Other 2", "Other 1", "Tool 1"]
    assert "Faster." in feed.json["items"][0]["content_html"]
    assert feed.json["feed_url"].endswith(twin)
    for path, kind in ((atom, "application/atom+xml"), (twin, "application/feed+json")):
        answer, head = new_visitor(site).get(path), new_visitor(site).head(path)
        assert answer.content_type == head.content_type == kind
        for response in (answer, head):
            assert response.headers["Cache-Control"] == "no-store"
            assert response.headers["Referrer-Policy"] == "no-referrer"
            assert "ETag" not in response.headers
            assert "Set-Cookie" not in response.headers
        # A secret beside what others write is not compressed (T-D18).
        zipped = new_visitor(site).get(path, headers={"Accept-Encoding": "gzip"})
        assert "Content-Encoding" not in zipped.headers
    hide_mod(site, other)
    assert titles(site, atom) == ["Tool 1"]
    assert "Other" not in new_visitor(site).get(twin).text


def test_an_address_that_is_none_is_the_same_404(site, follower):
    # C-FOL-14
    atom, _ = make_feed(follower)
    visitor, wrong = new_visitor(site), [atom[:-1], atom + "x", f"{HERE}/feed?token=", f"{HERE}/feed?token=%FF%00"]
    answers = {
        visitor.get(path, status=404).text for path in (*wrong, f"{HERE}/feed", f"{HERE}/feed?token={'a' * 999}")
    }
    assert len(answers) == 1
    visitor.head(wrong[0], status=404)
    visitor.get(f"{HERE}/feed.json?token=x", status=404)
    follower.pages.get(f"{HERE}/feed", status=404)  # a session is no address
    visitor.post(atom, {}, status=405)


def test_only_a_hash_is_kept_and_the_address_is_shown_once(site, follower, caplog):
    # C-FOL-14
    with caplog.at_level(logging.INFO):
        atom, _ = make_feed(follower)
        new_visitor(site).get(atom)
    secret = atom.partition("=")[2]
    assert re.fullmatch(r"[\w-]{43}", secret)  # 256 bits
    with site.databases.readonly_session() as session:
        stored = session.execute(select(Reader.__table__)).all()
    assert secret not in str(stored)
    assert secret not in caplog.text
    paths = [json.loads(line.message)["path"] for line in caplog.records if line.name == "modhub.requests"]
    assert f"{HERE}/feed" in paths
    # Nor in nginx's log: $uri is without the query, and no other variable has it.
    (log_format,) = re.findall(r"(?s)^log_format modhub .*?;$", NGINX.read_text("utf-8"), re.MULTILINE)
    assert "$uri" in log_format
    assert not re.search(r"\$(request\b|request_uri|args|query_string|arg_|http_referer|is_args)", log_format)
    page = follower.pages.get(HERE)
    assert secret not in page.text
    assert follower.pages.get(ADDRESS, status=303).location.endswith(f"{HERE}#feed")


def test_a_new_address_and_revoking_end_the_old_one(site, ada, follower):
    # C-FOL-14
    first, _ = make_feed(follower)
    second, _ = make_feed(follower)
    new_visitor(site).get(first, status=404)
    assert titles(site, second) == ["Tool 1"]
    hers, _ = make_feed(ada)
    assert titles(site, hers) == []
    answer = press(follower, "revoke")
    assert answer.location.endswith(f"{HERE}?done=revoked#feed")
    assert messages_on(answer.follow()) == ["feed_revoked"]
    assert {"feed address created", "feed address revoked"} <= {*actions(site)}
    new_visitor(site).get(second, status=404)
    assert titles(site, hers) == []
    token = follower.pages.get(HERE).forms[0]["csrf_token"].value
    follower.pages.post(ADDRESS, {"csrf_token": token, "do": "else"}, status=400)
    follower.pages.post(ADDRESS, {"do": "create"}, status=400)  # without the form's token
    assert "/Modhub/account/login" in new_visitor(site).post(ADDRESS, {"do": "create"}, status=303).location


def test_it_ends_with_the_account_and_rests_while_that_is_blocked(site, follower):
    # C-FOL-14
    atom, _ = make_feed(follower)

    def block(moment):
        write(site, update(Account).where(Account.id == follower.id).values(blocked_at=moment))

    block(now())
    new_visitor(site).get(atom, status=404)
    block(None)
    assert titles(site, atom) == ["Tool 1"]
    delete_person(site, follower.id)
    new_visitor(site).get(atom, status=404)


def test_a_restore_ends_it(site, follower):
    # C-FOL-14: it may have been revoked since the backup
    atom, _ = make_feed(follower)
    for ended in (1, 0):
        assert len([note for note in restore(site) if "private feeds" in note]) == ended
    new_visitor(site).get(atom, status=404)
