"""The command ``advisory``, the page, the warning on the pages of mods, and where the files are."""

import json
from datetime import timedelta
from functools import partial
from hashlib import sha256

import pytest
from sqlalchemy import select

from modhub.audit.models import AuditEntry
from modhub.base.settings import StartRefused
from modhub.db import now
from modhub.plugins.moderation import IModeration
from modhub.plugins.services import IMods
from modhub_moderation.advisories.services import find_occurrences, list_advisable
from modhub_testing.mods import hide_mod
from modhub_testing.pages import messages_on
from tests.people import read, register

from .advisory_site import DIGEST, FEATURES, TEXTS, advise, listed, withdraw

WORDS = ("--kind", "malware", "--reason", TEXTS["reason"], "--advice", TEXTS["advice"])


@pytest.fixture
def site(start):
    return start(FEATURES)


def upload(person, mod, query, content):
    person.call("post", f"/api/modhub/{mod['id']}/{query}", params=content, status=201)


def with_code(person, *contents, publish=True):
    """A mod that had these files as versions 1, 2 …"""
    mod = person.draft("Rally HUD")
    for version, content in enumerate(contents, 1):
        upload(person, mod, f"code?name=hud.zip&version={version}", content)
    return person.call("post", f"/api/modhub/{mod['id']}/publish").json if publish else mod


def test_the_operator_adds_and_withdraws(site, ada, run_admin):
    # C-ADV-1
    run = partial(run_admin, site, "advisory")
    mod = with_code(ada, b"malware")
    assert run("list") == (0, "No advisories.\n")
    place = f'The file is here: code hud.zip of mod {mod["id"]} "Rally HUD", account'
    code, dry = run("add", DIGEST.upper(), *WORDS, "--dry-run")
    assert (code, dry.startswith(place), dry.endswith("would be added.\nNothing was changed.\n")) == (0, True, True)
    for words in (("abc", *WORDS), (DIGEST, *WORDS[:-1], " ")):
        with pytest.raises(StartRefused):
            run("add", *words)
    assert listed(site) == []
    assert run("add", DIGEST.upper(), *WORDS)[0] == 0
    assert listed(site)[0]["reason"] == TEXTS["reason"]
    assert run("add", DIGEST, *WORDS) == (1, "For this file there is one already: withdraw it first.\n")
    assert run("withdraw", "0" * 64, "--yes") == (1, "For this file there is none that stands.\n")
    would = f"The advisory for {DIGEST} would be withdrawn.\nNothing was changed. Add --yes to do it.\n"
    assert run("withdraw", DIGEST) == (1, would)
    assert run("withdraw", DIGEST, "--yes") == (0, f"The advisory for {DIGEST} was withdrawn.\n")
    assert [json.loads(line) for line in run("list", "--json")[1].splitlines()] == listed(site)
    assert ", withdrawn 2" in run("list")[1]
    deeds = select(AuditEntry.action).where(AuditEntry.target_id == DIGEST).order_by(AuditEntry.id)
    assert read(site, deeds) == ["advisory added", "advisory withdrawn"]


def look_up(site, function, about):
    """What moderators are shown."""
    with site.databases.readonly_session() as session:
        return function(session, site.find_service(IMods), site.find_service(IModeration).files, about)


@pytest.mark.postgres
def test_a_file_is_found_in_all_mods_and_elsewhere(start):
    # C-ADV-1, T-G9
    site = start(f"{FEATURES} modhub_builds", ApiPrivateKeys="the-agents-key")
    ada = register(site, "Ada")
    mod, draft = with_code(ada, b"old", b"library"), with_code(ada, b"library", publish=False)
    hidden = with_code(ada, b"library")
    hide_mod(site, hidden)
    site.post("/api/modhub/app/linux?name=app.bin", b"library", headers={"X-Api-Key": "the-agents-key"}, status=201)
    library = sha256(b"library").hexdigest()
    advise(site, library)
    places, files = look_up(site, find_occurrences, [library, DIGEST]), look_up(site, list_advisable, mod["id"])
    assert DIGEST not in places
    assert [place.mod and place.mod.id for place in places[library]] == [mod["id"], draft["id"], hidden["id"], None]
    assert places[library][-1].name == "build 1 for linux: app.bin"
    assert [(file.file.kind, file.file.name) for file in files] == [("code", "hud.zip"), ("former", "1")]
    others = [[place.mod and place.mod.id for place in file.others] for file in files]
    assert others == [[draft["id"], hidden["id"], None], []]
    assert [file.advisory is not None for file in files] == [True, False]


def test_a_published_mod_with_an_advised_file_warns(site, ada):
    # C-ADV-3
    mod, former = with_code(ada, b"malware"), with_code(ada, b"malware", b"clean")
    page = f"/Modhub/{mod['id']}"
    assert "advised" not in messages_on(site.get(page))
    advise(site, DIGEST, reason="<b>Bad</b>")
    answer = site.get(page)
    assert "advised" in messages_on(answer)
    assert "&lt;b&gt;Bad&lt;/b&gt;" in answer.text
    assert "hud.zip" in answer.html.find(attrs={"data-message": "advised"}).get_text()
    assert "advised" not in messages_on(site.get(f"/Modhub/{former['id']}"))
    assert "advised" not in messages_on(site.get("/Modhub"))
    withdraw(site, DIGEST)
    assert "advised" not in messages_on(site.get(page))


def test_the_warning_costs_the_same_for_many_files(site, ada):
    # C-ADV-3
    few, many = (with_code(ada, b"malware") for _ in range(2))
    for number in range(5):
        upload(ada, many, f"images?name={number}.png", b"%d" % number)
    advise(site, DIGEST)
    counted = []
    for mod in (few, many):
        with site.counted() as statements:
            site.get(f"/Modhub/{mod['id']}")
        counted.append(len(statements))
    assert counted[0] == counted[1]


def test_nothing_of_a_hidden_mod_is_in_its_404(site, ada):
    # C-ADV-3, C-PRO-2
    hidden, draft = with_code(ada, b"malware"), with_code(ada, b"malware", publish=False)
    hide_mod(site, hidden)
    advise(site, DIGEST)
    for mod in (hidden, draft):
        assert "advised" not in messages_on(site.get(f"/Modhub/{mod['id']}", status=404))


def test_what_a_moderator_removed_is_in_no_warning(site, ada):
    # C-ADV-3
    mod, deleted = with_code(ada, b"clean"), with_code(ada, b"malware")
    upload(ada, mod, "images?name=secret.png", b"malware")
    advise(site, DIGEST)
    page = f"/Modhub/{mod['id']}"
    assert "secret.png" in site.get(page).html.find(attrs={"data-message": "advised"}).get_text()
    assets = site.get(f"/api/modhub/{mod['id']}").json["assets"]
    (image,) = [asset["url"].rpartition("/")[2] for asset in assets if asset["kind"] == "image"]
    with site.databases.write_session.begin() as session:
        moderation = site.find_service(IModeration)
        moderation.parts["image"].remove(session, mod["id"], image)
        moderation.delete(session, [deleted["id"]], now() + timedelta(days=1))
    assert "advised" not in messages_on(site.get(page))
    # Moderators find both.
    places = look_up(site, find_occurrences, [DIGEST])[DIGEST]
    gone = f"hud.zip of mod {deleted['id']}, which was deleted"
    assert {(place.mod and place.mod.id, place.name) for place in places} == {(mod["id"], "secret.png"), (None, gone)}


def test_the_page_lists_the_newest(site):
    # C-ADV-5
    assert "no_advisories" in messages_on(site.get("/Modhub/advisories"))
    digests = [f"{number:064x}" for number in range(101)]
    advise(site, *digests[:100])
    assert "all are in the JSON file" not in site.get("/Modhub/advisories").text
    advise(site, digests[100])
    page = site.get("/Modhub/advisories")
    sections = page.html.find_all("section")
    assert (len(sections), sections[0]["id"]) == (100, f"file-{digests[100]}")
    assert "all are in the JSON file" in page.text
    assert "/Modhub/advisories" in site.get("/sitemap.xml").text
