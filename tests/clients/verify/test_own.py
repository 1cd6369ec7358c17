"""``modhub-verify``, part ``own``: green on the application, red on one with a single fault, and clean afterwards."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from webob import Request, Response

from modhub_auth import publisher_keys
from modhub_client.verify import owner
from modhub_client.verify.checks import ContractCheck
from modhub_client.verify.parts import CHECKS
from modhub_client.verify.report import CheckState, VerifyReport
from modhub_client.verify.run import UNKNOWN_ID, Run, RunCredentials, RunOptions
from modhub_client.verify.runner import run_checks
from modhub_client.verify.service import VerifiedService
from modhub_testing import Site, Start
from modhub_testing.broken_service import (
    BrokenService,
    Fault,
    answers,
    body,
    document,
    header,
    ignores,
    receives,
    receives_body,
    status,
    when,
)
from modhub_testing.running_server import running

pytestmark = pytest.mark.long

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync "
    "modhub_wiki modhub_downloads modhub_profiles modhub_tags modhub_moderation"
)
PASSWORD = "correct horse battery"
OWN = [check for check in CHECKS if check.part == "own"]
MOD = r"/api/modhub/\d+"
ANY = ".*"
BY_KEY = "a publisher key only edits"
"""The check that needs a publisher key instead of the account."""
BY_TRACES = "a vote that is changed counts once"
"""The check that needs ``--may-leave-traces``."""


@pytest.fixture
def site(start: Start) -> Site:
    """The application, with a published mod of somebody else."""
    site = start(FEATURES, modhub_auth__failures="100000", modhub_auth__register_limit="100000")
    other = register(site, "other@example.org")
    mod = site.post_json("/api/modhub", {"title": "Of another author"}, headers=other, status=201).json
    site.post(f"/api/modhub/{mod['id']}/code?version=1", b"code", headers=other, status=201)
    site.post(f"/api/modhub/{mod['id']}/publish", headers=other, status=200)
    site.token = register(site, "owner@example.org")["Authorization"].partition(" ")[2]  # type: ignore[attr-defined]
    return site


def register(site: Site, email: str) -> dict[str, str]:
    session = site.post_json("/api/auth/register", {"email": email, "password": PASSWORD}, status=201).json
    return {"Authorization": f"Bearer {session['accessToken']}"}


@pytest.fixture
def broken(site: Site) -> Iterator[tuple[BrokenService, str]]:
    """The application behind faults that a test adds, and its address."""
    service = BrokenService(site.app)
    with running(service) as server:
        yield service, "http://{}:{}".format(*server.addresses[0])


def verify(
    url: str, checks: list[ContractCheck], credentials: RunCredentials | None = None, *, traces: bool = True
) -> VerifyReport:
    credentials = credentials or RunCredentials(email="owner@example.org", password=PASSWORD)
    with VerifiedService(url) as service:
        run = Run(service, frozenset({"core", *FEATURES.split()}), RunOptions(may_leave_traces=traces), credentials)
        return run_checks(run, checks, lambda _: None)


def publisher_key(site: Site) -> RunCredentials:
    """A key for all mods of the account, as its page makes one."""
    headers = {"Authorization": f"Bearer {site.token}"}  # type: ignore[attr-defined]
    account_id = site.get("/api/auth/me", headers=headers).json["accountId"]
    with site.databases.write_session.begin() as session:
        return RunCredentials(publisher_key=publisher_keys.create_key(session, account_id, "CI", None, 365).key)


def nothing_is_left(site: Site) -> bool:
    """Whether neither the account nor anybody else has a mod of the run."""
    session = {"email": "owner@example.org", "password": PASSWORD}
    token = site.post_json("/api/auth/login", session, status=200).json["accessToken"]
    mine = site.get("/api/modhub/mine", headers={"Authorization": f"Bearer {token}"}).json
    return mine["count"] == 0 and site.get("/api/modhub").json["total"] == 1


def votes(site: Site) -> dict[str, int]:
    """The votes on the mod of the other author."""
    number = site.get("/api/modhub").json["mods"][0]["id"]
    return dict(site.get(f"/api/modhub/{number}/vote").json)


@pytest.mark.parametrize("traces", [False, True])
def test_every_check_passes_and_nothing_is_left(site: Site, broken: tuple[BrokenService, str], traces: bool) -> None:
    report = verify(broken[1], OWN, traces=traces)
    wrong = [(result.check.name, result.detail) for result in report.results if result.state is not CheckState.PASSED]
    assert {name for name, _ in wrong} == ({BY_KEY} if traces else {BY_KEY, BY_TRACES}), wrong
    assert report.left_behind == []
    assert report.code == 0
    assert nothing_is_left(site)
    assert votes(site) == {"ups": 0, "downs": 0}


def test_letters_of_an_address_are_in_a_token_by_chance(site: Site, broken: tuple[BrokenService, str]) -> None:
    register(site, "ed@example.org")
    service, url = broken
    service.faults = [document("POST /api/auth/login", put(accessToken="02" + 32 * "ed"))]
    checks = [check for check in OWN if check.name == "a sign in answers a session"]
    (result,) = verify(url, checks, RunCredentials(email="ed@example.org", password=PASSWORD)).results
    assert (result.state, result.detail) == (CheckState.PASSED, "")


def test_with_a_publisher_key_nothing_is_made(site: Site, broken: tuple[BrokenService, str]) -> None:
    report = verify(broken[1], OWN, publisher_key(site))
    passed = {result.check.name for result in report.results if result.state is CheckState.PASSED}
    assert {BY_KEY, "a publisher key is exchanged and an unknown one is not"} <= passed
    assert (report.left_behind, report.code) == ([], 0)
    assert not any(call.startswith(("POST /api/modhub/", "DELETE /api/modhub/1")) for call in broken[0].calls)


def test_a_vote_that_is_not_put_back_in_time_is_told(
    site: Site, broken: tuple[BrokenService, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.0)
    is_last = receives_body(f"PUT {MOD}/vote", lambda sent: b"{}" if b'"value": 0' in sent else sent)
    broken[0].faults = [is_last]
    checks = [check for check in OWN if check.name == BY_TRACES]
    report = verify(broken[1], checks)
    assert report.results[0].state is CheckState.BROKEN
    assert "A vote could not be put back: {'/api/modhub/" in report.left_behind[0]
    assert votes(site) == {"ups": 1, "downs": 0}
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 30.0)
    ends = iter([True, True, True])
    broken[0].faults = [when(f"PUT {MOD}/vote", lambda *_: next(ends, False), 500)]
    report = verify(broken[1], checks)
    assert (report.results[0].state, report.left_behind) == (CheckState.BROKEN, [])


class Sticky:
    """Faults that remember: what was sent, created or seen before."""

    def __init__(self) -> None:
        self.sent: dict[str, Any] = {}
        self.seen: set[str] = set()
        self.guid = ""

    def settable(self, name: str) -> list[Fault]:
        """An edit sets this field, as the owner's list has it."""
        return [
            receives(f"PUT {MOD}", lambda value: self.sent.update({name: value[name]})),
            document("GET /api/modhub/mine", lambda value: value["mods"][-1].update(self.sent)),
            document("GET /api/modhub/mine", lambda value: value["mods"][0].update(self.sent)),
        ]

    def keeps_keys(self) -> list[Fault]:
        """An idempotency key counts though its call was refused."""

        def is_used(request: Request, response: Response) -> bool:
            key = request.headers["Idempotency-Key"]
            was_seen = key in self.seen
            if response.status_int == 400:
                self.seen.add(key)
            return was_seen

        return [when("POST /api/modhub", is_used, 409)]

    def leaks(self, call: str) -> list[Fault]:
        """Responses to those calls name the mod that was created last, published or not."""

        def learn(_request: Request, response: Response) -> None:
            if response.status_int == 201:
                self.guid = response.json["guid"]

        return [
            Fault("POST /api/modhub", after=learn),
            Fault(call, after=lambda _, response: setattr(response, "body", response.body + self.guid.encode())),
        ]

    def changes(self) -> list[Fault]:
        """The mod that was created last is a change, published or not."""
        shown = document(
            "GET .*/changes.*", lambda value: value["changes"].append({"guid": self.guid, "what": "edited"})
        )
        return [self.leaks("nothing")[0], shown]

    def reuses(self, *, newest: bool) -> list[Fault]:
        """The number of a deleted mod is given out again; with ``newest`` only that of a draft which was made last."""

        def learn(request: Request, response: Response) -> None:
            if request.method == "DELETE":
                self.sent["free"] = int(request.path.rpartition("/")[2])
                return
            if request.path.endswith("/publish"):
                self.sent["last"] = None
                return
            value, free = response.json, self.sent.pop("free", None)
            if free is not None and not (newest and free != self.sent["last"]):
                response.json = {**value, "id": free}
            self.sent["last"] = value["id"]

        return [Fault(f"POST /api/modhub|POST {MOD}/publish|DELETE {MOD}", after=learn)]

    def counts_twice(self) -> list[Fault]:
        """A vote against counts for the mod as well, if it was one for it."""

        def change(request: Request, response: Response) -> None:
            value = request.json["value"]
            is_changed = self.sent.get("value") == 1 and value == -1
            self.sent["value"] = value
            if is_changed:
                response.json = {**response.json, "ups": response.json["ups"] + 1}

        return [Fault(f"PUT {MOD}/vote", after=change)]


def first(name: str, value: Any) -> Callable[[Any], None]:
    """Change a field of the first entry of the only list of a document."""

    def change(document: Any) -> None:
        entries = next(entries for entries in document.values() if isinstance(entries, list) and entries)
        entries[0][name] = value

    return change


def put(**fields: Any) -> Callable[[Any], None]:
    return lambda value: value.update(fields)


def drop(name: str) -> Callable[[Any], object]:
    return lambda value: value.pop(name)


def edited(name: str, edit: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Change a field of a document, if it is there and is no null."""

    def change(value: Any) -> None:
        if value.get(name) is not None:
            value[name] = edit(value[name])

    return change


def inline_pages(_request: Request, response: Response) -> None:
    """A page is shown instead of saved."""
    if response.content_type == "text/html":
        response.headers["Content-Disposition"] = "inline"


def no_header(name: str) -> Callable[[Request, Response], bool]:
    return lambda request, _: name not in request.headers


CASES: list[tuple[str, str, list[Fault]]] = [
    # own_account
    ("a sign in answers a session", "C-ACC-1", [document("POST /api/auth/login", drop("displayName"))]),
    ("a sign in answers a session", "C-TOK-1", [document("POST /api/auth/login", put(expiresInSeconds=3600))]),
    *(
        ("a sign in answers a session", "C-TOK-1", [document("POST /api/auth/login", put(accessToken=token))])
        for token in (
            "1.Owner@example.org",
            b"1 owner@example.org".hex(),
            "e30.{}.AA".format(urlsafe_b64encode(b'{"sub": "owner@example.org"}').decode().rstrip("=")),
        )
    ),
    ("a sign in answers a session", "C-TOK-3", [document("POST /api/auth/login", put(refreshToken="a1b2c3d4"))]),
    ("the account reads itself", "C-ACC-13", [document("GET /api/auth/me", drop("kind"))]),
    (
        "an address is compared without capitals and spaces",
        "C-ACC-4",
        [when("POST /api/auth/login", lambda request, _: b"OWNER" in request.body, 401)],
    ),
    (
        "a wrong address and a wrong password are one answer",
        "C-ACC-7",
        [when("POST /api/auth/login", lambda request, _: b"nobody" in request.body, 404)],
    ),
    ("a refresh token works once", "C-ACC-14", [status("POST /api/auth/refresh", 200, only=401)]),
    ("a refresh token works once", "C-ACC-15", [answers("POST /api/auth/refresh", 401, b'{"error":"invalid"}')]),
    ("signing out and forgetting are always 204", "C-ACC-16", [answers("POST /api/auth/logout", 204)]),
    ("what is no registration is refused", "C-ACC-3", [status("POST /api/auth/register", 201, only=409)]),
    (
        "what is no registration is refused",
        "C-ACC-5",
        [when("POST /api/auth/register", lambda request, _: len(request.body) > 1000, 201)],
    ),
    (
        "a large body of an account call is refused",
        "C-ERR-12",
        [document("POST /api/auth/refresh", lambda value: value.pop("limitBytes"))],
    ),
    (
        "a publisher key is exchanged and an unknown one is not",
        "C-TOK-5",
        [document("POST /api/auth/exchange", put(error="unknown"))],
    ),
    ("a vote is answered with all votes", "C-VOTE-1", [document(f"PUT {MOD}/vote", drop("value"))]),
    ("a vote is answered with all votes", "C-VOTE-2", [document(f"GET {MOD}/vote", put(value=1))]),
    (BY_TRACES, "C-VOTE-1", Sticky().counts_twice()),
    (BY_KEY, "C-TOK-6", [document(f"GET {MOD}/vote", put(value=0))]),
    (BY_KEY, "C-TOK-6", [status(f"PUT {MOD}/vote", 400)]),
    (BY_KEY, "C-TOK-6", [status(f"DELETE {MOD}", 204)]),
    # own_drafts
    ("a new mod is a draft of its account", "C-OWN-1", [document("POST /api/modhub", put(published=True))]),
    ("a new mod is a draft of its account", "C-PRO-3", [document("GET .*/mine", lambda value: value["mods"].clear())]),
    ("every call of its owner answers the whole mod", "C-MOD-1", [document(f"PUT {MOD}", drop("assets"))]),
    ("every call of its owner answers the whole mod", "C-MOD-11", [document(f"PUT {MOD}", put(url="/mods/1"))]),
    (
        "an edit changes only what is sent",
        "C-OWN-2",
        [receives(f"PUT {MOD}", lambda value: "title" in value and value.update(games=value["games"] or []))],
    ),
    (
        "a list replaces the stored one and an empty one clears it",
        "C-OWN-3",
        [receives(f"PUT {MOD}", lambda value: value["requires"] == [] and value.pop("requires"))],
    ),
    (
        "bad lists of guids are refused",
        "C-OWN-4",
        [receives(f"PUT {MOD}", edited("requires", lambda guids: guids[:50]))],
    ),
    (
        "both lists are checked together and a refusal changes neither",
        "C-OWN-5",
        [receives(f"PUT {MOD}", lambda value: value.setdefault("requires", []))],
    ),
    ("a refused creation creates nothing", "C-OWN-6", [receives("POST .*", edited("requires", lambda _: []))]),
    ("what the service sets cannot be edited", "C-OWN-7", Sticky().settable("version")),
    ("what the service sets cannot be edited", "C-MOD-2", Sticky().settable("guid")),
    ("what the service sets cannot be edited", "C-MOD-5", Sticky().settable("version")),
    (
        "the list of own mods has the last changed first",
        "C-OWN-10",
        [document("GET .*/mine", lambda value: value["mods"].reverse())],
    ),
    ("an edit of another state is refused", "C-OWN-30", [ignores("PUT .*", "If-Match")]),
    ("a creation that is repeated creates one mod", "C-OWN-31", [ignores("POST .*", "Idempotency-Key")]),
    ("a refusal keeps no idempotency key", "C-OWN-32", Sticky().keeps_keys()),
    ("a title is required and cut", "C-MOD-3", [receives("PUT .*", edited("title", lambda title: title[:100]))]),
    ("a description is cut", "C-MOD-4", [document("PUT .*", edited("description", lambda text: text + "ä"))]),
    ("a description is cut", "C-TXT-3", [when("PUT .*", lambda request, _: len(request.body) > 8000, 400)]),
    ("games are cleaned", "C-MOD-6", [document("PUT .*", edited("games", sorted))]),
    (
        "games are cleaned",
        "C-MOD-7",
        [receives("PUT .*", edited("games", lambda games: [game.replace("ó", "o") for game in games]))],
    ),
    (
        "fifty mods that are not here may be named",
        "C-MOD-8",
        [receives("PUT .*", edited("conflictsWith", lambda guids: guids[:49]))],
    ),
    (
        "a guid is kept as sent and compared without case",
        "C-MOD-9",
        [document("PUT .*", edited("requires", lambda guids: [guid.lower() for guid in guids]))],
    ),
    (
        "a guid is kept as sent and compared without case",
        "C-MOD-10",
        [document("PUT .*", edited("requires", lambda guids: [*guids, guids[0].lower()]))],
    ),
    (
        "the time of change moves with changes only",
        "C-MOD-13",
        [document("PUT .*", put(updatedAt="2026-01-01T00:00:00.000000Z"))],
    ),
    (
        "games that are no strings are refused",
        "C-MOD-14",
        [receives("PUT .*", edited("games", lambda games: [str(game) for game in games]))],
    ),
    (
        "a body that cannot be read is refused with the name of the field",
        "C-ERR-10",
        [receives_body("PUT .*", lambda sent: b"{}" if sent == b"[]" else sent)],
    ),
    (
        "a body that cannot be read is refused with the name of the field",
        "C-ERR-11",
        [document("PUT .*", lambda value: "error" in value and value.update(message="That is wrong."))],
    ),
    (
        "unknown fields and media types are tolerated",
        "C-ERR-13",
        [when("PUT .*", lambda request, _: b"colour" in request.body, 400)],
    ),
    (
        "unknown fields and media types are tolerated",
        "C-ERR-14",
        [when("PUT .*", lambda request, _: request.content_type == "text/plain", 415)],
    ),
    ("no field makes the service fail", "C-ERR-8", [when("PUT .*", lambda request, _: b"ud800" in request.body, 500)]),
    # own_texts
    (
        "text of owners is normalised and stripped",
        "C-TXT-1",
        [document("PUT .*", edited("title", lambda title: title.replace("é", "e\u0301")))],
    ),
    (
        "single lines have no breaks and no overrides",
        "C-TXT-2",
        [document("PUT .*", edited("title", "\u202e{}".format))],
    ),
    (
        "cleaned html is well formed short and lasting",
        "C-TXT-8",
        [document("PUT .*", edited("description", "<em>{}".format))],
    ),
    (
        "cleaned html is well formed short and lasting",
        "C-TXT-8",
        [receives("PUT .*", edited("description", lambda text: text.replace("<blink></blink>", "")))],
    ),
    (
        "allowed tags stay",
        "C-TXT-9",
        [receives("PUT .*", edited("description", lambda text: text.replace("<kbd>", "")))],
    ),
    (
        "only allowed attributes stay",
        "C-TXT-10",
        [document("PUT .*", edited("description", lambda text: text + "<a onclick=''>"))],
    ),
    (
        "every link of an owner is marked",
        "C-TXT-11",
        [document("PUT .*", edited("description", lambda text: text.replace(" ugc", "")))],
    ),
    (
        "scripts go with their content and other tags alone",
        "C-TXT-12",
        [receives("PUT .*", edited("description", lambda text: text.replace("<script>", "<b>")))],
    ),
    (
        "scripts go with their content and other tags alone",
        "C-TXT-12",
        [receives("PUT .*", edited("description", lambda text: text.replace("</div><div>", "")))],
    ),
    (
        "a preview is what is stored",
        "C-OWN-41",
        [document("POST .*/preview", lambda value: value["removed"]["tags"].clear())],
    ),
    # own_uploads
    ("an upload is the file itself", "C-UP-1", [ignores("POST .*/css.*", "Content-Encoding")]),
    ("a code file needs a version", "C-UP-3", [status("POST .*/code.*", 201, only=400)]),
    ("a code file needs a version", "C-UP-8", [document("POST .*/code.*", edited("version", "{} ".format))]),
    ("a version is used once", "C-UP-2", [status("POST .*/code.*", 200, only=201)]),
    ("a version is used once", "C-UP-4", [document("POST .*/code.*", drop("sha256"))]),
    ("a version is used once", "C-UP-5", [document("GET .*/notes", first("automatic", False))]),
    ("a version is used once", "C-MOD-5", [document("POST .*/code.*", edited("version", lambda _: "2"))]),
    (
        "a second file replaces the first and images gather",
        "C-UP-6",
        [document("POST .*/css.*", first("url", "/Modhub/file/9"))],
    ),
    (
        "a second file replaces the first and images gather",
        "C-MOD-12",
        [document("POST .*/images.*", lambda value: value["assets"].reverse())],
    ),
    ("a name is its last part", "C-UP-7", [document("POST .*/css.*", first("name", ".."))]),
    ("an empty file is refused", "C-UP-9", [receives_body("POST .*/css.*", lambda sent: sent or b" ")]),
    ("a file over its limit is refused and not kept", "C-UP-11", [document("POST .*/images.*", drop("limitBytes"))]),
    (
        "a file over its limit is refused and not kept",
        "C-UP-12",
        [status("POST .*/images.*", 400, only=413)],
    ),
    (
        "a file over its limit is refused and not kept",
        "C-TXT-7",
        [document("POST .*/css.*", lambda value: "limitBytes" in value and value.update(limitBytes=256_000))],
    ),
    (
        "the files of a draft have digests",
        "C-OWN-40",
        [
            document("GET .*/files", first("sha256", "0" * 64)),
            document("GET .*/files", lambda value: value["files"].reverse()),
        ],
    ),
    ("an image can be deleted", "C-UP-14", [answers("DELETE .*/images/.*", 204)]),
    ("images have captions and an order", "C-PIC-20", [status("PUT .*/captions", 200, only=400)]),
    (
        "images have captions and an order",
        "C-PIC-21",
        [document("PUT .*/order", lambda value: value["assets"].reverse())],
    ),
    ("an entry can be edited", "C-NOTE-1", [document("GET .*/notes", lambda value: value["notes"][0].pop("editedAt"))]),
    ("an entry can be edited", "C-NOTE-3", [document("PUT .*/changelog/.*", put(automatic=True))]),
    ("an entry can be edited", "C-NOTE-5", [status("PUT .*/changelog/.*", 200)]),
    ("an entry can be edited", "C-NOTE-20", [document("GET .*/notes", put(count=99))]),
    ("nothing but an upload makes an entry", "C-NOTE-2", [status("POST .*/changelog", 404)]),
    ("a deleted entry frees its version", "C-NOTE-4", [answers("DELETE .*/changelog/.*", 204)]),
    # own_access
    (
        "without a token every owner call is one 401",
        "C-OWN-12",
        [status(f"(PUT|POST|DELETE|GET) /api/modhub/{UNKNOWN_ID}.*", 404, only=401)],
    ),
    ("without a token every owner call is one 401", "C-ERR-6", [header(ANY, "WWW-Authenticate", None)]),
    ("a bad token is 401 and says so", "C-TOK-2", [header(ANY, "WWW-Authenticate", "Bearer")]),
    (
        "somebody elses mod is as one that does not exist",
        "C-OWN-14",
        [status(f"PUT /api/modhub/{UNKNOWN_ID}", 404, only=401)],
    ),
    (
        "credentials come before input and input before state",
        "C-OWN-13",
        [when(f"PUT {MOD}", no_header("Authorization"), 400)],
    ),
    ("a successor is set and cleared", "C-OWN-33", [status("PUT .*/superseded", 200, only=400)]),
    ("a successor is set and cleared", "C-OWN-18", [document("PUT .*/superseded", put(supersededBy={"id": 1}))]),
    ("tags replace each other", "C-TAG-3", [document("PUT .*/tags", lambda value: value["tags"].append("more"))]),
    (
        "links are checked",
        "C-PRF-1",
        [receives("PUT .*/links", lambda value: value["source"] is None and value.clear())],
    ),
    (
        "links are checked",
        "C-PRF-2",
        [receives("PUT .*/links", edited("report", lambda link: link.replace("http:", "https:")))],
    ),
    ("links are checked", "C-PRF-3", [document("PUT .*/links", edited("license", str.lower))]),
    (
        "a rehearsal says what visitors would get",
        "C-OWN-17",
        [document("POST .*/rehearsal", lambda value: value["unpublished"].clear())],
    ),
    ("pages accept no token and calls no cookie", "C-HTTP-5", [status("GET /Modhub/mine", 200)]),
    (
        "a file that is declared too large is refused at once",
        "C-ERR-20",
        [document("POST .*/code.*", put(limitBytes=1)), status("POST .*/code.*", 403, only=401)],
    ),
    # own_hidden
    ("a draft is not read", "C-READ-1", [status(f"GET {MOD}", 403, only=404)]),
    (
        "a draft is not read",
        "C-HTTP-7",
        [when(f"GET {MOD}", lambda request, _: "Authorization" in request.headers, 200)],
    ),
    ("the changelog of a draft is not read", "C-READ-8", [status("GET .*/changelog", 200)]),
    ("a draft is not downloaded", "C-READ-9", [status("GET .*/download", 403)]),
    ("the votes of a draft are not read", "C-VOTE-2", [status("GET .*/vote", 200)]),
    ("the captions of a draft are not read", "C-PIC-9", [status("GET .*/captions", 200)]),
    ("the successor of a draft is not read", "C-OWN-19", [status("GET .*/superseded", 200)]),
    ("the tags of a draft are not read", "C-TAG-2", [status("GET .*/tags", 200)]),
    ("the tags of a draft are not read", "C-TAG-6", Sticky().leaks(f"GET {MOD}/tags")),
    ("the downloads of a draft are not read", "C-DL-4", [status("GET .*/downloads", 200)]),
    ("the links of a draft are not read", "C-PRF-6", [status("GET .*/links", 200)]),
    ("no file of a draft is served", "C-FILE-7", [status("GET /Modhub/file/.*", 200)]),
    ("no file of a draft is served", "C-PIC-2", [header(f"GET /Modhub/file/{UNKNOWN_ID}", "X-Hidden", "no")]),
    (
        "a draft is in no list and no total",
        "C-LIST-1",
        [document(r"GET /api/modhub\?q=.*", edited("total", lambda total: total + 1))],
    ),
    (
        "the page of a draft is the same 404 for everybody",
        "C-PAGE-13",
        [body(f"GET /Modhub/{UNKNOWN_ID}", lambda page: page + b"Nothing was ever here.")],
    ),
    ("the archive of a draft is 404", "C-PAGE-60", [status("GET .*/everything.zip", 409)]),
    ("a draft is in no group of a search", "C-PAGE-66", Sticky().leaks(r"GET /Modhub/descriptions\?.*")),
    ("no page feed or map shows a draft", "C-PRO-2", Sticky().leaks("GET /Modhub/feed")),
    ("no page feed or map shows a draft", "C-PRO-2", Sticky().leaks("GET /sitemap.xml")),
    ("no page feed or map shows a draft", "C-PRO-2", Sticky().leaks(r"GET /Modhub/by/\d+/feed.json")),
    ("the guid of a draft is unknown", "C-SYNC-1", [status("GET /api/modhub/guid/[0-9A-F-]+", 403)]),
    ("a draft is missing to who looks it up", "C-SYNC-16", [document("POST .*/lookup", put(missing=[]))]),
    ("a draft is missing from plans", "C-SYNC-9", [document("POST .*/plan", put(missing=[]))]),
    ("a draft is gone to who asks for updates", "C-SYNC-3", [document("POST .*/updates", put(gone=[], same=1))]),
    ("a draft is no change", "C-SYNC-5", Sticky().changes()),
    # own_public
    ("a draft is published once it has a code file", "C-OWN-8", [status("POST .*/publish", 200, only=409)]),
    ("a draft is published once it has a code file", "C-OWN-9", [status("DELETE .*/publish", 204)]),
    ("everybody reads the published mod", "C-READ-1", [document(f"GET {MOD}", put(games=[]))]),
    ("everybody reads the published mod", "C-PRO-1", [when(f"GET {MOD}", no_header("Authorization"), 401)]),
    ("a required draft is missing", "C-READ-6", [document(f"GET {MOD}", put(missing=[]))]),
    ("a required draft is missing", "C-READ-3", [document(f"GET {MOD}", put(install=[]))]),
    (
        "everybody reads the changelog of a published mod",
        "C-READ-8",
        [document("GET .*/changelog", lambda value: value["notes"].clear())],
    ),
    (
        "everybody downloads the file of a published mod",
        "C-READ-9",
        [body("GET .*/download", lambda content: content[1:])],
    ),
    ("everybody downloads the file of a published mod", "C-FILE-1", [header("GET /Modhub/file/.*", "ETag", 'W/"1"')]),
    (
        "everybody downloads the file of a published mod",
        "C-UP-10",
        [header("GET /Modhub/file/.*", "Content-Type", "text/html")],
    ),
    ("the file of a published mod has ranges and conditions", "C-FILE-2", [ignores("GET .*/download", "If-Range")]),
    ("the file of a published mod has ranges and conditions", "C-FILE-9", [ignores("GET .*/download", "If-Match")]),
    (
        "the files of a published mod are harmless",
        "C-FILE-3",
        [header("GET /Modhub/file/.*", "Content-Security-Policy", None)],
    ),
    (
        "the files of a published mod are harmless",
        "C-FILE-4",
        [header("GET /Modhub/file/.*", "Content-Disposition", "inline")],
    ),
    (
        "the files of a published mod are harmless",
        "C-FILE-4",
        [Fault("GET /Modhub/file/.*", after=inline_pages)],
    ),
    (
        "the files of a published mod are harmless",
        "C-FILE-5",
        [header("GET /Modhub/file/.*", "Content-Disposition", "attachment; filename=x")],
    ),
    ("the files of a published mod are harmless", "C-FILE-6", [ignores("GET /Modhub/file/.*", "Sec-Fetch-Site")]),
    (
        "a published mod is found by its words and games",
        "C-LIST-5",
        [answers(r"GET /api/modhub\?q=angstrom.*", 200, b'{"mods":[],"total":0}')],
    ),
    (
        "a published mod is found by its words and games",
        "C-LIST-4",
        [answers(r"GET /api/modhub\?q=game.*", 200, b'{"mods":[],"total":0}')],
    ),
    (
        "a published mod is found by its words and games",
        "C-LIST-7",
        [answers(r"GET /api/modhub\?game=.*2", 200, b'{"mods":[],"total":0}')],
    ),
    (
        "a published mod is found by its words and games",
        "C-LIST-8",
        [answers(r"GET /api/modhub\?size=20", 200, b'{"mods":[],"total":0}')],
    ),
    ("an owner cannot vote", "C-VOTE-3", [status("PUT .*/vote", 200)]),
    ("the captions of a published mod are read", "C-PIC-9", [document("GET .*/captions", first("caption", ""))]),
    ("a new version is served at the same address", "C-UP-6", [answers("POST .*/code.*newer", 201, b"{}")]),
    (
        "the feeds of a mod have its versions",
        "C-PAGE-17",
        [document("GET .*/feed.json", lambda value: value["items"].pop())],
    ),
    (
        "the feed of an author has the published mod",
        "C-PAGE-39",
        [document(r"GET /Modhub/by/\d+/feed.json", put(items=[]))],
    ),
    ("a draft supersedes nothing", "C-OWN-19", [document("GET .*/superseded", put(supersededBy={"id": 1}))]),
    ("a published mod is known by its guid", "C-SYNC-1", [header("GET /api/modhub/guid/.*", "ETag", '"other"')]),
    (
        "a published mod is known by its guid",
        "C-SYNC-16",
        [document("POST .*/lookup", lambda value: value["mods"].clear())],
    ),
    ("plans and updates know a published mod", "C-SYNC-3", [document("POST .*/updates", put(changed=[]))]),
    ("plans and updates know a published mod", "C-SYNC-9", [document("POST .*/plan", first("action", "keep"))]),
    (
        "plans and updates know a published mod",
        "C-SYNC-11",
        [document("POST .*/plan", lambda value: value["lock"]["entries"].clear())],
    ),
    (
        "a published mod is one change",
        "C-SYNC-5",
        [document("GET .*/changes.*", lambda value: value["changes"].clear())],
    ),
    (
        "a published mod is one change",
        "C-SYNC-25",
        [document("GET .*/changes.*", lambda value: value["changes"][-1].update(what="edited"))],
    ),
    ("the archive of a published mod has its file", "C-PAGE-60", [status("GET .*/everything.zip", 200, only=409)]),
    ("the archive of a published mod has its file", "C-PAGE-61", [body("GET .*/everything.zip", lambda _: b"")]),
    ("the downloads of a published mod are read", "C-DL-4", [document("GET .*/downloads", drop("versions"))]),
    # own_deleted
    ("a deleted mod is gone", "C-OWN-11", [answers(f"DELETE {MOD}", 204)]),
    ("the files of a deleted mod are gone", "C-FILE-7", [status("GET /Modhub/file/.*", 200)]),
    (
        "no list counts a deleted mod",
        "C-LIST-1",
        [document(r"GET /api/modhub\?q=.*", edited("total", lambda total: total + 1))],
    ),
    ("no page shows a deleted mod", "C-PAGE-13", [status(r"GET /Modhub/\d+", 410)]),
    ("no page shows a deleted mod", "C-PRO-2", Sticky().leaks("GET /Modhub")),
    (
        "the feed of the list says that a mod is deleted",
        "C-PAGE-18",
        [document("GET /Modhub/feed.json", drop("_modhub"))],
    ),
    (
        "the change of a deleted mod is its deletion",
        "C-SYNC-5",
        [document("GET .*/changes.*", lambda value: value["changes"][-1].update(what="edited", id=1))],
    ),
    ("the guid of a deleted mod is unknown", "C-SYNC-1", [status("GET /api/modhub/guid/.*", 200)]),
    (
        "the guid of a deleted mod is unknown",
        "C-SYNC-16",
        [document("POST .*/lookup", lambda value: value["missing"].clear())],
    ),
    ("the downloads of a deleted mod are gone", "C-DL-6", [status("GET .*/downloads", 200)]),
    ("no number or guid is given out again", "C-MOD-2", Sticky().reuses(newest=False)),
    ("no number or guid is given out again", "C-MOD-2", Sticky().reuses(newest=True)),
]


@pytest.mark.parametrize("module", sorted({check.module for check in OWN}))
def test_a_fault_turns_its_check_red(
    site: Site, broken: tuple[BrokenService, str], module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.0)
    service, url = broken
    checks = {check.name: check for check in OWN if check.module == module}
    # One sign-in for all: hashing passwords would take most of the time.
    token = "" if module == "own_account" else site.token  # type: ignore[attr-defined]
    account = RunCredentials(email="owner@example.org", password=PASSWORD, token=token)
    key = publisher_key(site)
    survivors = []
    for name, clause, faults in CASES:
        if name in checks:
            assert clause in checks[name].clauses, (name, clause)
            service.faults = faults
            (result,) = verify(url, [checks[name]], key if name == BY_KEY else account).results
            if result.state is not CheckState.BROKEN:
                survivors.append((name, clause, result.state, result.detail))
    assert survivors == []


def test_every_check_and_clause_has_a_fault() -> None:
    assert {check.name for check in OWN} == {name for name, _, _ in CASES}
    assert {clause for check in OWN for clause in check.clauses} == {clause for _, clause, _ in CASES}
