"""A service with every feature, varied content, an account and keys, which can break one thing at a time."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

import pytest

from modhub.admin.program import run_command
from modhub.blobs import BlobStore
from modhub.catalogue.pictures.maker import PictureMaker
from modhub.catalogue.samples import SAMPLE_FILES
from modhub_client.verify.run import Run, RunCredentials
from modhub_client.verify.runner import run_checks
from modhub_client.verify.service import VerifiedService
from modhub_testing import Site
from modhub_testing.broken_service import BrokenService
from modhub_testing.running_server import served
from tests.people import PASSWORD, cheap_hashes, make_key, register

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync "
    "modhub_wiki modhub_downloads modhub_profiles modhub_tags modhub_moderation"
)
ENVIRONMENT = (
    "MODHUB_VERIFY_EMAIL",
    "MODHUB_VERIFY_PASSWORD",
    "MODHUB_VERIFY_TOKEN",
    "MODHUB_VERIFY_KEY",
    "MODHUB_URL",
)
ENABLED = frozenset({"core", *FEATURES.split()})
BOTH, APP, WIKI = (character * 64 for character in "abc")
"""Machine keys, by what they may publish."""
BY_KEY = "a publisher key only edits"
"""The check that needs a publisher key instead of the account."""
BY_TRACES = "a vote that is changed counts once"
"""The check of the part own that needs ``--may-leave-traces``."""
SIGNING_KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


def send(author, mod, path, content, content_type):
    author.call("post", f"/api/modhub/{mod['id']}/{path}", params=content, content_type=content_type, status=201)


def publish(author, title, *, name="mod.zip", **fields):
    mod = author.draft(title, **fields)
    send(author, mod, f"code?{urlencode({'version': '1.0', 'name': name})}", title.encode() * 40, "application/zip")
    return author.call("post", f"/api/modhub/{mod['id']}/publish").json


def edit(author, mod, fields, part=""):
    author.call("put_json", f"/api/modhub/{mod['id']}{part}", params=fields, status=200)


@dataclass
class Verified:
    """A running service: its address, what can be broken of it, and who may change it."""

    url: str
    faulty: BrokenService
    site: Site
    account: RunCredentials
    publisher: RunCredentials
    """A publisher key for all mods of the account."""

    def verify(self, checks, credentials=None, *, traces=True):
        """Run checks, by default with the account and a machine key for everything."""
        with VerifiedService(self.url) as service:
            run = Run(service, ENABLED, credentials or self.account, may_leave_traces=traces)
            return run_checks(run, checks, bool)

    @property
    def bearer(self):
        session = self.site.post_json("/api/auth/login", {"email": self.account.email, "password": PASSWORD}).json
        return {"Authorization": f"Bearer {session['accessToken']}"}

    def left(self):
        """The addresses of what runs have made that is still there."""
        mine = self.site.get("/api/modhub/mine", headers=self.bearer).json["mods"]
        pages = self.site.get("/Modhub/api/wiki").json["pages"]
        made = [f"/Modhub/api/wiki/{page['path']}" for page in pages if "modhub-verify" in page["path"]]
        return [*(f"/api/modhub/{mod['id']}" for mod in mine), *made]

    def tidy(self):
        """Mend the service, and delete what a run could not."""
        self.faulty.faults = []
        self.faulty.calls.clear()
        for address in self.left():
            self.site.delete(address, headers={**self.bearer, "X-Api-Key": BOTH}, status=204)


def fill(site):
    """The samples, and what they lack: chains, cycles, odd names, HTML, a deleted mod, a snapshot."""
    author = register(site, "author")
    pictured = publish(author, "With a picture", description="<p>Perspicuous prose.</p>")
    image = SAMPLE_FILES / "tide-table.png"
    send(author, pictured, f"images?name={image.name}", image.read_bytes(), "image/png")
    # Of one image only: each takes a process of its own.
    PictureMaker(site.databases, site.find_service(BlobStore)).make_next()
    run_command(site.config, ["-c", "tests.ini", "demo"])
    deepest = publish(
        author, "Æther straße 100% under_score", name="Überflug (1) 100%.zip", games=["Pässion Æon", "50%_Game"]
    )
    send(author, deepest, "css?name=style.css", b"a { color: red }", "text/css")
    middle = publish(author, "Middle of chains", requires=[deepest["guid"]])
    html = '<p>A <a href="https://example.org">link</a> and <b>bold</b> text.</p>'
    missing = ["0f1d2c3b-4a59-4e68-8b7d-9c0e1f2a3b4c", "1f1d2c3b-4a59-4e68-8b7d-9c0e1f2a3b4c"]
    requires = [middle["guid"], deepest["guid"]]
    top = publish(author, "Top of chains", description=html, requires=[missing[0], *requires, missing[1]])
    partner = publish(author, "One of a circle", conflictsWith=[top["guid"]])
    other = publish(author, "Other of a circle", requires=[partner["guid"], deepest["guid"]])
    edit(author, partner, {"requires": [other["guid"]]})
    whole = publish(
        author, "A whole archive", requires=[middle["guid"], deepest["guid"]], description="<p>Perspicuous prose.</p>"
    )
    send(author, whole, "code?version=2.0&name=mod.zip", b"second" * 40, "application/zip")
    edit(author, middle, {"by": whole["guid"]}, "/superseded")
    for _ in range(2):
        gone = publish(author, "Gone")
        author.call("delete", f"/api/modhub/{gone['id']}", status=204)
    edit(author, pictured, {"games": ["Paper Comet"]})
    edit(author, pictured, {"source": "https://code.example.org/mod"}, "/links")
    [code] = site.get(f"/api/modhub/{top['id']}").json["assets"]
    digest = site.head(code["url"]).headers["ETag"].strip('"')
    for sha256, kind in ((digest, "malware"), (digest[:5] + 59 * "0", "other"), (64 * "a", "vulnerable")):
        words = ["--kind", kind, "--reason", f"It is {kind}.", "--advice", "Delete it."]
        run_command(site.config, ["-c", "tests.ini", "advisory", "add", sha256, *words])
    run_command(site.config, ["-c", "tests.ini", "advisory", "withdraw", 64 * "a", "--yes"])
    run_command(site.config, ["-c", "tests.ini", "snapshot"])


@contextmanager
def verified_service(applications, dialect, folder):
    """Start, fill and serve the application for a ``with`` block."""
    contact = folder / "contact.md"
    contact.write_text("# Contact\n\nWrite to us.\n", "utf-8")
    settings = {
        "modhub.contact": str(contact),
        "modhub.base_url": "http://127.0.0.1:6543",
        "modhub_sync.signing_key": SIGNING_KEY,
        "modhub_auth.failures": "100000",
        "modhub_auth.register_limit": "100000",
        "ApiPrivateKeys": f"{BOTH} Modhub:app Modhub:wiki\n{APP} Modhub:app\n{WIKI} Modhub:wiki",
    }
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch, cheap_hashes(patch):
            application = stack.enter_context(applications.lend(dialect, FEATURES, settings, fresh=True))
        site = Site(application.config, application.wsgi)
        fill(site)
        owner = register(site, "Owner")
        key = make_key(site, owner.id)
        account = RunCredentials(owner.address, PASSWORD, machine_key=BOTH)
        faulty = BrokenService(application.wsgi)
        with served(faulty) as url:
            yield Verified(url, faulty, site, account, RunCredentials(publisher_key=key))


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def _shared_service(applications, tmp_path_factory):
    with verified_service(applications, "sqlite", tmp_path_factory.mktemp("texts")) as made:
        yield made


@pytest.fixture
def verified(_shared_service):
    """One service for all tests of a process, which is mended after each."""
    yield _shared_service
    _shared_service.tidy()
