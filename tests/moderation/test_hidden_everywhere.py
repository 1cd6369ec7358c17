"""A mod that a moderator hid is nowhere: a crawler of all addresses with all features finds nothing of it.

It is let loose while the mod is visible too, which fills every cache, and shows that it would find it.
"""

import gzip
import io
import itertools
import re
import uuid
import zipfile
from collections import deque
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_plus, urlsplit

import pytest

from modhub.admin.program import run_command
from modhub_moderation.cases.models import DecisionKind
from modhub_tags.services import put_tag
from modhub_testing import Site
from modhub_testing.pages import form_at, new_visitor
from modhub_testing.reference import calls
from modhub_testing.workers import run_worker
from tests.people import Person, register

from .cases_kit import make_case, rule
from .conftest import begin, make_moderator

pytestmark = [pytest.mark.long, pytest.mark.postgres]

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki modhub_downloads "
    "modhub_profiles modhub_tags modhub_moderation modhub_metrics"
)
ASKED, SECRET = "Zqxjkvbp", "Wvutsrqp"
"""Both are in every text of the mod; the first one is searched for, so pages repeat it."""
NEVER = 10**9
SEARCHES = [
    f"{path}?{query}"
    for path in ("/Modhub", "/Modhub/descriptions", "/Modhub/authors", "/Modhub/feed", "/api/modhub")
    for query in (f"q={ASKED}", "game=Portal", "sort=top", "sort=downloads", "sort=popular", "tag=maps")
]
STARTS = ["/Modhub", "/sitemap.xml", "/Modhub/following", "/Modhub/advisories", *SEARCHES]
STARTS += ["/Modhub/account", "/Modhub/decisions", "/Modhub/mine", "/api/modhub?size=1&page=2"]
SKIPPED = re.compile("/static/|/Modhub/account/(?:logout|platform)|/Modhub/doc|/api/openapi")
LEADS = re.compile(rb"(?:/Modhub|/api/modhub|/sitemap)[^\"'<>\s\\,;)]*")
UNLIKE = {"date", "x-request-id", "set-cookie"}


class Case(NamedTuple):
    """A site with a mod that everybody sees, and how a moderator ends that."""

    site: Site
    ada: Person
    bob: Person
    mod: Any
    mark: re.Pattern[bytes]
    """What nothing but the mod shows: its texts, its address, its files."""
    kind: DecisionKind

    def told(self, path, answer):
        """What an answer shows of the mod. Words of its own address it may repeat."""
        asked = unquote_plus(path).lower().encode()
        return {words for words in self.mark.findall(contents(answer)) if words.lower() not in asked}

    def decide(self):
        about_mod = self.kind is DecisionKind.HIDE
        number = make_case(self.site, self.ada, self.mod if about_mod else None, reporter=self.bob)
        choice = {"facts": f"{ASKED} {SECRET} facts", "hides_mods": not about_mod}
        rule(self.site, number, self.kind, make_moderator(self.site, "Mo"), **choice)


@pytest.fixture(params=[DecisionKind.HIDE, DecisionKind.BLOCK], ids=lambda kind: kind.value)
def case(request, start, monkeypatch):
    """The mod has everything that a mod may have, and others name it; an author who is not blocked has another one."""
    site = begin(start, monkeypatch, FEATURES)
    ada, bob = register(site, "Ada"), register(site, "Bob")
    with site.databases.write_session.begin() as session:
        put_tag(session, "maps", "Maps", "Karten")
    words = f"{ASKED} {SECRET}"
    mod = ada.draft(f"{words} title", description=f"<p>{words}</p>", games=[f"{words} game", "Portal"])
    address, png = f"/api/modhub/{mod['id']}", b"\x89PNG\r\n\x1a\n" + SECRET.encode()
    for path, body in (
        ("code?version=1&name={0}.zip", b"code"),
        ("css?name={0}.css", b"css"),
        ("images?name={0}", png),
    ):
        ada.call("post", f"{address}/{path.format(SECRET)}", params=body + SECRET.encode(), status=201)
    mod = ada.call("post", f"{address}/publish", status=200).json
    note = ada.call("get", f"{address}/notes").json["notes"][0]
    ada.call("put_json", f"{address}/changelog/{note['id']}", params={"text": f"{words} note"}, status=200)
    ada.call("put_json", f"{address}/tags", params={"tags": ["maps"]}, status=200)
    ada.call("put_json", f"{address}/links", params={"source": f"https://{SECRET.lower()}.example.org/"}, status=200)
    theirs = bob.publish("Uses it", requires=[mod["guid"]], games=["Portal"])
    bob.publish("Fights it", conflictsWith=[mod["guid"]])
    bob.call("put_json", f"/api/modhub/{theirs['id']}/superseded", params={"by": mod["guid"]}, status=200)
    bob.call("put_json", f"{address}/vote", params={"value": 1}, status=200)
    for followed in (f"/Modhub/{mod['id']}", f"/Modhub/by/{ada.id}"):
        form_at(bob.pages.get(followed), f"{followed}/follow").submit("follow", status=303)
    if request.param is DecisionKind.HIDE:
        ada.publish("Beside it", games=["Portal"])
    assert run_command(site.config, ["-c", "x.ini", "snapshot"]) == 0
    own = [re.escape(asset["url"]) for asset in mod["assets"]]
    pattern = "|".join(
        (SECRET, rf"/Modhub/{mod['id']}\b", rf"/api/modhub/{mod['id']}\b", *(rf"{url}\b" for url in own))
    )
    return Case(site, ada, bob, mod, re.compile(pattern.encode(), re.IGNORECASE), request.param)


def contents(answer):
    """All that an answer says: its headers, its body, and what is in its archive."""
    body = answer.body
    if body.startswith(b"\x1f\x8b"):
        body = gzip.decompress(body)
    elif body.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            body = b"".join(name.encode() + archive.read(name) for name in archive.namelist())
    return body + b"\n".join(f"{name}: {value}".encode() for name, value in answer.headerlist)


def crawl(caller, known):
    """Each address that can be reached, with its answer; ``known`` are asked too, and get what is found."""
    queue = deque(sorted(known))
    while queue:
        path = queue.popleft()
        answer = caller.get(path, status="*")
        yield path, answer
        if answer.status_int != 404:
            leads = {lead.decode().replace("&amp;", "&") for lead in LEADS.findall(contents(answer))}
            new = {path for path in leads if path.isascii() and not SKIPPED.match(path)} - known
            known |= new
            queue.extend(sorted(new))


def plain_addresses(site):
    """Those that have no variable segment."""
    return {path for method, path in calls(site) if method == "GET" and "{}" not in path and not SKIPPED.match(path)}


def test_a_crawler_finds_nothing_of_it(case):
    # C-CAS-3, C-FILE-7, C-PRO-2, C-SYNC-14, T-B1
    site = case.site
    site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": "127.0.0.1"}
    known = {*STARTS, *plain_addresses(site), f"/Modhub/{case.mod['id']}"}
    callers = {"visitor": new_visitor(site), "reader": case.bob.pages}
    before = {path for caller in callers.values() for path, answer in crawl(caller, known) if case.told(path, answer)}
    feeds = {f"/Modhub/feed{kind}" for kind in ("", ".json")} | {f"/Modhub/by/{case.ada.id}/feed"}
    assert before >= {
        "/Modhub",
        "/sitemap.xml",
        "/api/modhub",
        f"/Modhub/by/{case.ada.id}",
        "/Modhub/following",
        *feeds,
    }
    assert any("everything.zip" in path for path in before)
    [snapshot] = {path for path in before if path.startswith("/Modhub/snapshot/")}
    assert len(before) > 40
    case.decide()
    assert run_worker(site.registry, "snapshots")
    assert callers["visitor"].get(snapshot, status=404)
    after = {}
    for name, caller in callers.items():
        after |= {f"{name} {path}": case.told(path, answer) for path, answer in crawl(caller, known)}
    assert len(after) > len(before)
    assert {path: told for path, told in after.items() if told} == {}


def absent_twins(case, note):
    """(method, address, the same of what never was) of each call whose address may name the mod or what it has."""
    assets = [asset["url"].rpartition("/")[2] for asset in case.mod["assets"]]
    for method, path in sorted(calls(case.site)):
        count = path.count("{}")
        if re.match(r"/(?:Modhub|Modhub/mine|api/modhub)/\{\}", path):
            firsts = [str(case.mod["id"])]
        elif re.match(r"/Modhub/(?:file|picture)/\{\}", path):
            firsts = assets
        elif re.match(r"/api/modhub/guid/\{\}", path):
            firsts = [case.mod["guid"]]
        elif re.match(r"/(?:Modhub/by|api/modhub/authors)/\{\}", path) and case.kind is DecisionKind.BLOCK:
            firsts = [str(case.ada.id)]
        else:
            continue
        seconds = [str(note)] if "/changelog/" in path else ["320"] if "/picture/" in path else assets
        for values in itertools.product(firsts, seconds[: 9 if count > 1 else 1]):
            never = str(uuid.uuid4()) if "/guid/" in path else str(NEVER)
            kept = values[1] if "/picture/" in path else never
            yield method, _fill(path, *values), _fill(path, never, kept)


def _fill(path, *values):
    for value in values:
        path = path.replace("{}", value, 1)
    return path


def shown(answer):
    """Everything that a caller could compare, without the address that was asked for."""
    headers = sorted((name, value) for name, value in answer.headerlist if name.lower() not in UNLIKE)
    text = f"{answer.status} {answer.body!r} {headers}"
    text = re.sub(r'nonce-[\w-]+|nonce="[^"]*"|name="csrf_token" value="[^"]*"', "RANDOM", text)
    path = urlsplit(answer.request.url).path
    return text.replace(quote(path, safe=""), "ADDRESS").replace(path, "ADDRESS")


def test_every_call_answers_as_if_it_had_never_been(case):
    # C-FILE-7, C-NTC-2, C-OWN-12, C-PRO-2, T-B1
    site, bob = case.site, case.bob
    note = site.get(f"/api/modhub/{case.mod['id']}/changelog").json["notes"][0]["id"]
    case.decide()
    pages = new_visitor(site)
    pages.cookiejar = bob.pages.cookiejar
    token = form_at(pages.get("/Modhub/mine/new"), "/Modhub/mine/new")["csrf_token"].value
    asked = 0
    for method, real, absent in absent_twins(case, note):
        body = f"csrf_token={token}" if real.startswith("/Modhub") else "{}"
        kind = "application/x-www-form-urlencoded" if real.startswith("/Modhub") else "application/json"
        bearer = {"Authorization": f"Bearer {bob.token}"}
        for caller, headers in ((new_visitor(site), {}), (pages, {}), (site, bearer)):
            sent = {"headers": headers, "expect_errors": True}
            if method != "GET":
                sent |= {"params": body, "headers": {**headers, "Content-Type": kind}}
            answers = [getattr(caller, method.lower())(path, **sent) for path in (real, absent)]
            assert shown(answers[0]) == shown(answers[1]), (method, real, headers)
            assert answers[0].status_int not in {200, 201, 204}, (method, real)
            asked += 1
    assert asked > 200


def test_a_lock_that_names_it_is_as_one_that_names_nothing(case):
    # C-SYNC-9, C-SYNC-11, C-PRO-2; look-ups, updates and plans: tests/sync.
    case.decide()
    answers = []
    for guid in (case.mod["guid"], str(uuid.uuid4())):
        lock = {"entries": [{"guid": guid, "version": "1"}]}
        answer = case.site.post_json("/api/modhub/plan/check", {"lock": lock}, status=200)
        answers.append(re.sub(r"'ETag', '[^']*'", "", shown(answer).replace(guid, "GUID")))
    assert answers[0] == answers[1]
