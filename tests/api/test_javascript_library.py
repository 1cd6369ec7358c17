"""The JavaScript library of clients/modhub_js in Node.js, against a service: `library.mjs` has what it does."""

import json
import os
import re
import runpy
import shutil
import subprocess
import time
from collections import Counter
from contextlib import closing
from http.cookiejar import CookieJar
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, build_opener

import pyotp
import pytest
from bs4 import BeautifulSoup
from PIL import Image

from modhub_client.names import clean_name
from modhub_testing.service import PASSWORD, script

from .conftest import MACHINE_KEY, ROOT, serving

LIBRARY = ROOT / "clients" / "modhub_js"
MODULES = ROOT / "var" / "typescript" / "node_modules"
PROVIDER = runpy.run_path(str(ROOT / "tests" / "auth" / "openid_provider.py"))
SECONDS = 200
CHAIN = 12
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def served(template_databases, tmp_path_factory, _compiled_templates):
    """What the scenarios are told of a service with mods."""
    with closing(PROVIDER["Provider"]()) as provider:
        settings = {"modhub_auth.steam": "true", "modhub_auth.steam_provider": provider.endpoint, **_compiled_templates}
        folder = tmp_path_factory.mktemp("library")
        with serving("sqlite", template_databases, folder, settings) as (installation, url):
            author = installation.register("author")
            for name in ("publisher", "voter"):
                installation.register(name)
            yield {"url": url, "password": PASSWORD, **fill(author)}


def fill(author):
    """A chain, a pair of which one requires the other, one that requires what is not there, some more; with images."""
    chain = []
    for number in range(CHAIN):
        content = b"%d " % number * 20_000
        chain.append(author.published(f"Chain {number}", content, requires=chain[-1:])["guid"])
    required = author.published("Required")["guid"]
    pair = [required, author.published("Pair", requires=[required])["guid"]]
    missing = author.published("Missing", requires=[UNKNOWN])["guid"]
    followed = author.published("Followed")["guid"]
    for number in range(20):
        mod = author.published(f"Shown {number}", description="<p>Hello</p>")
        assert author.send_file(mod["id"], "images", png(), "image/png", name="night.png").status == 201
    build = author.ask("POST", "/api/modhub/app/windows?version=1.4", b"the app", {"X-Api-Key": MACHINE_KEY})
    assert build.status == 201, build
    return {"chain": chain, "pair": pair, "missing": missing, "mod": followed}


def png():
    file = BytesIO()
    Image.effect_noise((640, 360), 60).save(file, "PNG")
    return file.getvalue()


def start(served, scenario, **more):
    words = ["node", str(Path(__file__).with_name("library.mjs")), scenario, json.dumps({**served, **more})]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(program):
    output, errors = program.communicate(timeout=SECONDS)
    assert program.returncode == 0, errors
    assert errors == ""
    return json.loads(output.splitlines()[-1]) if output else None


def run(served, scenario, **more):
    return finish(start(served, scenario, **more))


class Visitor:
    """Somebody with a browser's cookies, who fills in the forms of pages."""

    def __init__(self, url):
        self.url = url
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def open(self, address, fields=None):
        data = None if fields is None else urlencode(fields).encode()
        with self._opener.open(urljoin(self.url, address), data, timeout=60) as answer:
            self.url = answer.url
            return BeautifulSoup(answer.read(), "html.parser")

    def send(self, page, **fields):
        """Send the form of ``page`` that has the first of these fields."""
        form = page.find(attrs={"name": next(iter(fields))}).find_parent("form")
        hidden = {field["name"]: field.get("value", "") for field in form.select("input[type=hidden]")}
        return self.open(form.get("action") or self.url, {**hidden, **fields})

    def sign_up(self, email):
        self.send(self.open("/Modhub/account/register"), email=email, password=PASSWORD)


def test_names_are_as_safe_as_those_of_modhub_get(served):
    names = [
        "hud.zip",
        "../../a\\b.zip",
        "CON",
        "nul.txt",
        ".bashrc",
        "a" * 300 + ".zip",
        "x\u202egpj.exe",
        " . ",
        "a:b?.js",
    ]
    names += [
        "é" * 150 + ".tar",
        "Cafe\u0301.zip",
        "com¹",
        "tab\t.zip",
        "end. ",
        "🎮" * 60 + ".mod",
        ".." * 3,
        "a/\u200b",
    ]
    assert run(served, "names", names=names) == [clean_name(name) for name in names]


def test_a_page_of_twenty_takes_two_requests_beside_its_pictures(served):
    found = run(served, "browse")
    assert found["data"] == ["GET /api/modhub", "POST /api/modhub/details"]
    assert found["again"] == "GET /api/modhub 304"
    assert found["total"] == found["found"] == 20
    assert found["authors"]
    assert found["shown"]["pictures"] == 20
    assert found["shown"]["bytes"] < 20 * len(png()) / 4
    assert "default-src 'none'" in found["frame"]


def test_a_chain_survives_a_cut_connection_and_a_replaced_file(served):
    # C-FILE-2, C-SYNC-9
    found = run(served, "chain")
    assert found["replaced"] == found["order"][-1]
    assert found["order"] == served["chain"]
    assert found["names"] == [["mod.zip"]] * (CHAIN - 1) + [["new.js"]]
    assert (found["damage"], found["left"], found["cuts"]) == ([], [], 1)
    assert found["last"]["received"] == found["last"]["bytes"]
    sent = Counter(re.sub(r"/\d+", "", request) for request in found["sent"])
    assert sent["POST /api/modhub/plan"] == 2
    assert sum(count for request, count in sent.items() if request.startswith("GET /Modhub/file")) <= CHAIN + 3


def test_updates_replace_remove_and_repair(served):
    # C-SYNC-3, C-SYNC-17
    found = run(served, "update")
    mod = served["pair"][1]
    assert found["fresh"] == {"changed": [], "gone": [], "relationsChanged": [], "advised": []}
    assert [one["guid"] for one in found["found"]["changed"]] == [mod]
    assert found["found"]["relationsChanged"] == [mod]
    assert found["asked"][-1] == "POST /api/modhub/updates"
    assert (found["killed"], found["suspect"]) == ("killed", [mod])
    assert [(one["version"], one["name"], one["wanted"]) for one in found["placed"]] == [("2", "two.js", True)]
    assert found["installed"] == [mod]
    assert [(one["guid"], one["got"]) for one in found["damage"]] == [(mod, None)]
    assert ([one["guid"] for one in found["repaired"]], found["after"]) == ([mod], [])


def test_refusals_are_errors_with_codes(served):
    found = run(served, "refusals")
    assert found["codes"] == {
        "blocked": "blocked",
        "damaged": "damaged",
        "full": "store_full",
        "elsewhere": "foreign_address",
        "unsafe": "TypeError",
        "signedOut": "signed_out",
        "unknown": "not_found",
        "offline": "offline",
        "insecure": "insecure",
    }
    assert found["requestId"]
    assert found["missing"] == [UNKNOWN]
    assert found["classes"] == [True] * 4
    assert (found["attempts"], found["patient"], found["allowed"]) == (3, True, 1)


def test_pairing_signs_in_an_account_of_a_platform(served):
    # C-ACC-27, C-ACC-28, C-ACC-29
    program = start(served, "pair")
    assert program.stdout
    shown = json.loads(program.stdout.readline())
    assert set(shown) == {"userCode", "verificationUrl", "expiresInSeconds", "intervalSeconds"}
    visitor = Visitor(served["url"])
    login = visitor.open(shown["verificationUrl"])
    provider = visitor.open(login.select_one('a[href*="/platform/steam"]')["href"])
    page = visitor.send(provider, subject=PROVIDER["SUBJECT"])
    asked = visitor.send(page, userCode=shown["userCode"])
    assert "Library test/1" in asked.get_text()
    visitor.send(asked, userCode=shown["userCode"], allow="1")
    found = finish(program)
    assert found["me"]["kind"] == "Platform"
    assert found["current"] == found["account"] == {key: found["me"][key] for key in ("accountId", "displayName")}
    assert found["mode"] == 0o600
    assert all("?" not in request for request in found["sent"])


def test_a_second_factor_is_asked_for(served):
    visitor = Visitor(served["url"])
    visitor.sign_up("careful@example.org")
    page = visitor.open("/Modhub/account/authenticator")
    totp = pyotp.TOTP(page.select_one("#authenticator-secret").get_text())
    visitor.send(page, code=totp.now(), currentPassword=PASSWORD)
    # The code that added it is used up.
    found = run(served, "signIn", email="careful@example.org", codes=[totp.at(time.time() + 30)])
    assert (found["asked"], found["givenUp"], found["ended"], found["after"]) == (2, True, 1, None)
    assert found["account"]["accountId"]


def test_one_refresh_over_clients_and_processes(served, tmp_path):
    # C-ACC-14
    run(served, "expire", folder=str(tmp_path))
    # The lock of a process that was killed is taken over.
    ended = subprocess.Popen(["true"])
    ended.wait()
    name = re.sub("[^A-Za-z0-9]+", "-", f"modhub {served['url']} session")
    (tmp_path / f"{name}.lock").write_text(str(ended.pid))
    programs = [start(served, "refresh", folder=str(tmp_path)) for _ in range(2)]
    found = [finish(program) for program in programs]
    assert sum(each["refreshes"] for each in found) == 1
    assert [vote["value"] for each in found for vote in each["votes"]] == [1] * 4
    assert list(tmp_path.glob("*.lock")) == []


def test_publishing_goes_on_after_any_failure(served, tmp_path):
    # C-OWN-31, C-UP-4
    (tmp_path / "night.png").write_bytes(png())
    found = run(served, "publish", image=str(tmp_path / "night.png"))
    assert found["errors"] == ["offline"] * 3
    mod = found["mod"]
    assert (mod["published"], mod["version"], found["ready"], found["mods"]) == (True, "1.0", True, 1)
    assert mod["description"] == "<p>A <strong>calm</strong> HUD.</p>"
    assert [asset["kind"] for asset in mod["assets"]] == ["code", "image"]
    assert found["steps"] == ["fields", "rehearsal"]
    assert [note["text"] for note in found["notes"]] == ["<p>The <em>first</em>.</p>"]
    assert [caption["caption"] for caption in found["captions"]] == ["At night"]


def test_a_follower_tells_what_concerns_the_installed(served):
    # C-SYNC-4
    found = run(served, "follow")
    assert found == {"changed": [served["mod"]], "app": "1.4", "offline": "offline"}


def without_examples(value):
    """A schema without examples, and without its title, which is its name."""
    if isinstance(value, list):
        return [without_examples(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_examples(item)
        for key, item in value.items()
        if key != "examples" and not (key == "title" and isinstance(item, str))
    }


def test_the_types_are_those_of_the_description(tmp_path):
    # With MODHUB_SNAPSHOTS=write it writes them again.
    command = [script("modhub-admin"), "-c", ROOT / "development.ini", "openapi"]
    description = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=SECONDS).stdout)
    description |= {"paths": {}, "components": {"schemas": without_examples(description["components"]["schemas"])}}
    (tmp_path / "schemas.json").write_text(json.dumps(description), "utf-8")
    made, stored = tmp_path / "answers.d.ts", LIBRARY / "answers.d.ts"
    command = [MODULES / ".bin" / "openapi-typescript", tmp_path / "schemas.json", "--output", made]
    subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    if os.environ.get("MODHUB_SNAPSHOTS") == "write":
        shutil.copy(made, stored)
    assert made.read_text("utf-8") == stored.read_text("utf-8")


def program_of_the_guide():
    (program,) = re.findall(
        r"^## With JavaScript\n.*?```js\n(.*?)```",
        (ROOT / "docs/clients.md").read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    return str(program)


def test_the_program_of_the_guide_runs(served, tmp_path):
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "modhub-client").symlink_to(LIBRARY)
    program = program_of_the_guide()
    assert len(program.splitlines()) <= 30
    (tmp_path / "overlay.mjs").write_text(program.replace("https://mods.example.org", served["url"]), "utf-8")
    done = subprocess.run(
        ["node", "overlay.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.glob("mods/*/*"))
