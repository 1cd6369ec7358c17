"""A service with every feature and varied content, which can break one thing at a time."""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest

from modhub.admin.program import run_command
from modhub.blobs import BlobStore
from modhub.catalogue.pictures.maker import PictureMaker
from modhub.catalogue.samples import SAMPLE_FILES
from modhub_client.verify.parts import find_features
from modhub_client.verify.run import Run
from modhub_client.verify.service import VerifiedService
from modhub_testing import Site
from modhub_testing.applications import Applications
from modhub_testing.broken_service import BrokenService
from modhub_testing.running_server import running

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync "
    "modhub_wiki modhub_downloads modhub_profiles modhub_tags modhub_moderation"
)
SIGNING_KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


class Author:
    """An account that publishes by the API."""

    def __init__(self, site: Site, name: str) -> None:
        credentials = {"email": f"{name}@example.org", "password": "correct horse battery"}
        session = site.post_json("/api/auth/register", credentials, status=201).json
        self._site = site
        self._headers = {"Authorization": f"Bearer {session['accessToken']}"}

    def json(self, method: str, path: str, value: Any) -> Any:
        call = getattr(self._site, f"{method}_json")
        return call(path, value, headers=self._headers, status="2*").json

    def upload(self, mod: Any, kind: str, content: bytes, content_type: str, **query: str) -> None:
        path = f"/api/modhub/{mod['id']}/{kind}?{urlencode(query)}"
        self._site.post(path, content, content_type=content_type, headers=self._headers, status=201)

    def publish(self, title: str, *, name: str = "mod.zip", **fields: Any) -> Any:
        mod = self.json("post", "/api/modhub", {"title": title, **fields})
        self.upload(mod, "code", _zip_with(title), "application/zip", version="1.0", name=name)
        return self._site.post(f"/api/modhub/{mod['id']}/publish", headers=self._headers, status=200).json

    def delete(self, mod: Any) -> None:
        self._site.delete(f"/api/modhub/{mod['id']}", headers=self._headers, status=204)


def _zip_with(text: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mod.txt", text * 40)
    return file.getvalue()


@dataclass
class Verified:
    """A running service: its address, and what can be broken of it."""

    url: str
    faulty: BrokenService
    site: Site


def fill(site: Site) -> None:
    """The samples, and what they lack: chains, cycles, odd names, HTML, a deleted mod, a snapshot."""
    author = Author(site, "author")
    pictured = author.publish("With a picture", description="<p>Perspicuous prose.</p>")
    image = SAMPLE_FILES / "tide-table.png"
    author.upload(pictured, "images", image.read_bytes(), "image/png", name=image.name)
    # Of one image only: each takes a process of its own.
    PictureMaker(site.databases, site.find_service(BlobStore)).make_next()
    run_command(site.config, ["-c", "tests.ini", "demo"])
    deepest = author.publish(
        "Æther straße 100% under_score", name="Überflug (1) 100%.zip", games=["Pässion Æon", "50%_Game"]
    )
    author.upload(deepest, "css", b"a { color: red }", "text/css", name="style.css")
    middle = author.publish("Middle of chains", requires=[deepest["guid"]])
    html = '<p>A <a href="https://example.org">link</a> and <b>bold</b> text.</p>'
    missing = ["0f1d2c3b-4a59-4e68-8b7d-9c0e1f2a3b4c", "1f1d2c3b-4a59-4e68-8b7d-9c0e1f2a3b4c"]
    requires = [middle["guid"], deepest["guid"]]
    top = author.publish("Top of chains", description=html, requires=[missing[0], *requires, missing[1]])
    partner = author.publish("One of a circle", conflictsWith=[top["guid"]])
    other = author.publish("Other of a circle", requires=[partner["guid"], deepest["guid"]])
    author.json("put", f"/api/modhub/{partner['id']}", {"requires": [other["guid"]]})
    whole = author.publish(
        "A whole archive", requires=[middle["guid"], deepest["guid"]], description="<p>Perspicuous prose.</p>"
    )
    author.upload(whole, "code", _zip_with("second"), "application/zip", version="2.0", name="mod.zip")
    author.json("put", f"/api/modhub/{middle['id']}/superseded", {"by": whole["guid"]})
    for _ in range(2):
        author.delete(author.publish("Gone"))
    author.json("put", f"/api/modhub/{pictured['id']}", {"games": ["Paper Comet"]})
    author.json("put", f"/api/modhub/{pictured['id']}/links", {"source": "https://code.example.org/mod"})
    [code] = site.get(f"/api/modhub/{top['id']}").json["assets"]
    digest = site.head(code["url"]).headers["ETag"].strip('"')
    for sha256, kind in ((digest, "malware"), (digest[:5] + 59 * "0", "other"), (64 * "a", "vulnerable")):
        words = ["--kind", kind, "--reason", f"It is {kind}.", "--advice", "Delete it."]
        run_command(site.config, ["-c", "tests.ini", "advisory", "add", sha256, *words])
    run_command(site.config, ["-c", "tests.ini", "advisory", "withdraw", 64 * "a", "--yes"])
    run_command(site.config, ["-c", "tests.ini", "snapshot"])


@pytest.fixture(scope="session")
def verified(applications: Applications, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verified]:
    """One for all tests of a process; a test that breaks it mends it."""
    contact = tmp_path_factory.mktemp("texts") / "contact.md"
    contact.write_text("# Contact\n\nWrite to us.\n", "utf-8")
    settings = {
        "modhub.contact": str(contact),
        "modhub.base_url": "http://127.0.0.1:6543",
        "modhub_sync.signing_key": SIGNING_KEY,
    }
    with applications.lend("sqlite", FEATURES, settings, fresh=True) as application:
        site = Site(application.config, application.wsgi)
        fill(site)
        faulty = BrokenService(application.wsgi)
        with running(faulty) as server:
            yield Verified("http://{}:{}".format(*server.addresses[0]), faulty, site)


@pytest.fixture
def service(verified: Verified) -> Iterator[VerifiedService]:
    """Calls of the service."""
    with VerifiedService(verified.url) as called:
        yield called
    verified.faulty.faults = []


@pytest.fixture
def run(service: VerifiedService) -> Run:
    """A run, as checks get it."""
    return Run(service, find_features(service))
