"""The API reference with every set of features: complete, and its examples are true."""

import ast
import json
import re
from base64 import b64encode
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import pyotp
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from sqlalchemy import update

import modhub
from modhub.admin.program import Admin
from modhub.blobs import BlobStore
from modhub.catalogue.commands import add_game
from modhub.catalogue.models import Asset
from modhub.server.tasks import ERRORS
from modhub_auth.container import AuthServices
from modhub_auth.publisher_keys import create_key
from modhub_auth.signin import totp
from modhub_downloads.worker import DownloadWriter
from modhub_moderation.advisories.limits import AdvisoryKind
from modhub_moderation.advisories.services import create_advisories
from modhub_sync.snapshots import SnapshotMaker
from modhub_testing import Site, Start
from modhub_testing.reference import Example, calls, described, example_differences, examples, for_programs, sent_bodies
from tests.people import cheap_hasher

PAGE = "/Modhub/doc"
FEATURES = {
    "modhub_auth": {"accounts"},
    "modhub_builds": {"builds"},
    "modhub_downloads": {"downloads"},
    "modhub_moderation": {"advisories", "reports", "transparency"},
    "modhub_profiles": {"links"},
    "modhub_sync": {"sync"},
    "modhub_tags": {"tags"},
    "modhub_wiki": {"wiki"},
}
REQUIRED = {"modhub_moderation": "modhub_auth"}
# A section depends on its own feature alone: each is added to none, and taken from all, with what it requires.
ADDED = [{feature, REQUIRED.get(feature, feature)} for feature in FEATURES]
TAKEN = [{other for other in FEATURES if feature not in {other, REQUIRED.get(other)}} for feature in FEATURES]
SUBSETS = [tuple(sorted(subset)) for subset in (set(), *ADDED, *TAKEN, set(FEATURES))]
ABSENT = "01234567-89ab-cdef-0123-456789abcdef"
ADVISED = "9b6f0".ljust(64, "0")
"""The SHA-256 of a file of which something is known."""
KEYS = {
    "ApiPrivateKeys": "agent Modhub:app Modhub:wiki",
    "modhub__storage_address_key": "storage",
    "modhub_sync__signing_key": b64encode(bytes(32)).decode(),
}
NUMBER, GUID = re.compile("[0-9]+"), re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
AGENT = {"X-Api-Key": "agent"}
PERSON = {"email": "owner@example.org", "password": "ten characters or more"}


def picture_of_somebody() -> bytes:
    """A picture that names who made it."""
    content, texts = BytesIO(), PngInfo()
    texts.add_text("Author", "Mira Holt")
    Image.new("RGB", (2, 2)).save(content, "PNG", pnginfo=texts)
    return content.getvalue()


FILES = {
    "hud.zip": b"PK hud",
    "hud.css": b"p {}",
    "view.png": picture_of_somebody(),
    "modhub.zip": b"PK app",
    "notes.txt": b"1.4\n\nFaster start.",
    "manifest.md": b"# The manifest\n",
}
PAGES_ONLY = {
    "appealed",
    "appealed_already",
    "archive_too_large",
    "archive_waits",
    "authenticator_present",
    "changed_meanwhile",
    "dead_link",
    "decided_already",
    "deleted",
    "factor_missing",
    "foreign_form",
    "form_lapsed",
    "gone",
    "hidden_already",
    "last_login",
    "login_not_yours",
    "login_taken",
    "must_undo",
    "no_account",
    "no_moderator",
    "no_password",
    "no_such_part",
    "not_tried",
    "nothing_to_undo",
    "own_case",
    "password_present",
    "password_warning",
    "platform_refused",
    "platform_unreachable",
    "proof_needed",
    "proposal_expired",
    "refused",
    "replaced",
    "required_mods_missing",
    "same_address",
    "same_moderator",
    "sign_in_expired",
    "signed_out",
    "too_late",
    "too_many_follows",
    "too_many_keys",
    "too_many_mods",
    "wrong_password",
}
"""Codes of refusals that no program meets: of the forms of pages, and of what Pyramid itself raises."""


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("subset", SUBSETS, ids=lambda subset: "+".join(subset) or "none")
@pytest.mark.long
def test_a_subset_describes_what_is_there_and_nothing_else(
    start: Start, subset: tuple[str, ...], tmp_path: Path
) -> None:
    # The page asks the database nothing: this one is empty.
    site = start(" ".join(subset), url=f"sqlite:///{tmp_path}/empty.sqlite")
    page = site.get(PAGE).html
    existing, documented = calls(site), described(page)
    assert for_programs(site, existing) - documented == set()
    assert documented - existing == set()
    sections = {section["aria-labelledby"] for section in page.select(".reference")}
    assert sections == {"general", "mods", "operation", *chain.from_iterable(FEATURES[feature] for feature in subset)}
    ids = [element["id"] for element in page.find_all(id=True)]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in page.select('.reference a[href^="#"]')} <= set(ids)
    assert {link["href"] for link in page.select('.reference a[href^="/"]')} <= (
        {"/Modhub/Wiki", "/api/modhub/doc/wiki"} if "modhub_wiki" in subset else set()
    )


class World:
    """What the examples need to be there: people, keys, a game, and before each of them a mod, builds and a page."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        icon = folder / "icon.png"
        icon.write_bytes(FILES["view.png"])
        add_game(Admin(site.config), "Portal 2", None, icon)
        site.find_service(AuthServices).passwords = cheap_hasher()
        owner = self.register("owner")
        self.token, self.owner_id = owner["accessToken"], owner["accountId"]
        with site.databases.write_session.begin() as session:
            self.publisher_key = create_key(session, owner["accountId"], "docs", None, 1).key
        self.voter = self.register("voter")["accessToken"]
        self.protect(self.register("grace")["accountId"])
        with site.databases.write_session.begin() as session:
            texts = {"reason": "It sends saved passwords.", "advice": "Delete the file."}
            create_advisories(session, [ADVISED], kind=AdvisoryKind.MALWARE, **texts)
        self.known: dict[str, str] = {}

    def register(self, name: str) -> Any:
        person = {**PERSON, "email": f"{name}@example.org"}
        return self.site.post_json("/api/auth/register", person, status=201).json

    def protect(self, account_id: int) -> None:
        """Give an account an authenticator."""
        secret = pyotp.random_base32()
        code = pyotp.TOTP(secret).generate_otp(int(totp.now().timestamp()) // 30)
        with self.site.databases.write_session.begin() as session:
            totp.add_authenticator(session, self.site.find_service(AuthServices).secret_box, account_id, secret, code)

    def secrets(self) -> dict[str, str]:
        """The variables of the lines."""
        session = self.site.post_json("/api/auth/login", PERSON, status=200).json
        keys = {"MODHUB_API_KEY": "agent", "ADDRESS_KEY": "storage"}
        return {
            "ETAG": '"another"',
            "TOKEN": self.token,
            "OTHER_TOKEN": self.voter,
            "REFRESH_TOKEN": session["refreshToken"],
            "PUBLISHER_KEY": self.publisher_key,
            **keys,
        }

    def own(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}
        return self.site.request(path, method=method, body=body, headers=headers).json

    def numbers(self) -> dict[str, str]:
        """The numbers of the page, and what there is for each of them now."""
        body: dict[str, Any] = {"title": "Excluded", "conflictsWith": []}
        excluded = self.own("POST", "/api/modhub", json.dumps(body).encode())
        body = {"title": "Café HUD", "games": ["Portal 2"], "requires": [ABSENT], "conflictsWith": [excluded["guid"]]}
        mod = self.own("POST", "/api/modhub", json.dumps(body).encode())
        plain = self.own("POST", "/api/modhub", json.dumps({"title": "Plain"}).encode())
        for path in (f"/api/modhub/{plain['id']}", f"/api/modhub/{mod['id']}"):
            self.own("POST", f"{path}/code?name=hud.zip&version=1.4", FILES["hud.zip"], "application/zip")
        self.own("POST", f"/api/modhub/{plain['id']}/publish")
        filled = self.own("POST", f"{path}/images", FILES["view.png"], "image/png")
        serial = self.site.get("/api/modhub/changes").json["serial"]
        self.own("POST", f"{path}/publish")
        self.own("PUT", f"{path}/tags", b'{"tags": ["map", "timer"]}')
        with self.site.databases.write_session.begin() as session:
            session.execute(update(Asset).where(Asset.kind == "image").values(caption="The calm layout"))
        code, image = (asset["url"].rpartition("/")[2] for asset in filled["assets"])
        (note,) = self.site.get(f"{path}/changelog").json["notes"]
        (game,) = self.site.get("/api/modhub/games").json["games"]
        build = self.site.post("/api/modhub/app/windows?version=1.4", FILES["modhub.zip"], headers=AGENT).json
        self.site.post("/api/modhub/app/changelog", FILES["notes.txt"], headers=AGENT)
        self.site.put("/Modhub/api/wiki/mods/manifest", FILES["manifest.md"], headers=AGENT)
        self.site.get(f"{path}/download")
        self.site.find_service(DownloadWriter).write_all()
        SnapshotMaker(self.site.registry).make(self.site.find_service(BlobStore))
        return {
            "8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21": mod["guid"],
            "7d5f2b1c-8a3e-4c9d-b6f0-1e2d3c4b5a69": excluded["guid"],
            "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae": self.site.get(
                "/api/modhub/snapshot"
            ).json["sha256"],
            "8411": str(serial),
            "12": str(mod["id"]),
            "13": str(plain["id"]),
            "42": str(self.owner_id),
            "31": str(note["id"]),
            "57": code,
            "58": image,
            "3": game["iconUrl"].rpartition("/")[2],
            "21": build["url"].rpartition("/")[2],
        }

    def run(self, example: Example) -> list[str]:
        """Send the request of the lines; return the differences from the page."""
        request = sent_bodies(example.lines, self.secrets(), FILES)
        self.known = self.known or self.numbers()
        path, question, query = request.path.partition("?")
        path = "/".join(self.known.get(segment, segment) for segment in path.split("/"))
        query = NUMBER.sub(lambda number: self.known.get(number[0], number[0]), query)
        body = GUID.sub(lambda guid: self.known.get(guid[0].decode(), guid[0].decode()).encode(), request.body)
        body = re.sub(rb"\b58\b", self.known["58"].encode(), body)
        whole, headers = path + question + query, dict(request.headers)
        answer = self.site.request(whole, method=request.method, body=body, headers=headers, status="*")
        if request.method == "DELETE":
            # Create again what the next example asks for.
            self.known = {}
        if answer.status_int != example.status:
            return [f"{request.method} {path}: {answer.status} {answer.text[:300]}"]
        if example.shape is None:
            is_json = answer.content_type == "application/json" and path != "/api/openapi.json"
            return [f"{request.method} {path} answers JSON that is not shown"] if is_json else []
        return [
            f"{request.method} {path}: {line}"
            for line in example_differences(example.shape, answer.json, filled=example.own)
        ]


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_every_example_is_what_happens(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-ERR-1
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # on the disk of the files
    site = start(" ".join(FEATURES), **KEYS, modhub_auth__forgot_limit="2", modhub_auth__register_limit="99")
    page = site.get(PAGE).html
    shown = examples(page)
    assert len(shown) > 40
    world = World(site, tmp_path)
    assert [line for example in shown for line in world.run(example)] == []
    # Every call that is described has lines for a shell.
    for heading in page.select(".reference h4"):
        assert heading.find_next(["h4", "pre"]).name == "pre", heading.text
    # The two answers that no example asks for.
    missing = site.post_json("/api/auth/login", {}, status=400).json
    assert example_differences(json.loads(page.select_one("#shape-error pre").text), missing) == []
    while (refused := site.post_json("/api/auth/forgot", {"email": "x"}, status="*")).status_int == 204:
        pass
    assert example_differences(json.loads(page.select_one("#shape-too-many pre").text), refused.json) == []
    # Settings as they are here, and every field of an answer explained.
    rates = {row.th.text: row.td.text for row in page.find(id="rates").find_next("table").select("tbody tr")}
    assert (rates["Sign-in"], rates["Register"], rates["Forgot"]) == ("10 failures", "99 calls", "2 calls")
    explained = {cell.text for cell in page.select('th[scope="row"]')}
    named = {name for answer in page.select("figure.answer") for name in fields(json.loads(answer.pre.text))}
    assert named - explained - EXPLAINED_BESIDE == set()
    # Every code that the program can answer, and no other.
    codes = {code.text for code in page.select(".error-code")}
    written = codes_in_the_program()
    assert written - PAGES_ONLY == codes
    assert written >= PAGES_ONLY


EXPLAINED_BESIDE = {"ok", "twoFactorRequired", "retryAfterSeconds"}
"""Fields that a sentence explains."""


def fields(value: Any) -> set[str]:
    """The names of all fields in a JSON value."""
    if isinstance(value, list):
        return {name for element in value for name in fields(element)}
    if isinstance(value, dict):
        return set(value) | {name for child in value.values() for name in fields(child)}
    return set()


def codes_in_the_program() -> set[str]:
    """The code of every refusal that is written down in the packages."""
    codes = {*(code for code, _ in ERRORS.values()), "no_api_key", "unknown_api_key"}
    places = {"ApiError": 1, "conflict": 0}
    for path in Path(modhub.__file__).parents[1].glob("modhub*/**/*.py"):
        if "modhub_testing" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in places:
                code = node.args[places[node.func.id]] if len(node.args) > places[node.func.id] else None
                codes |= {code.value} if isinstance(code, ast.Constant) else set()
    return codes
