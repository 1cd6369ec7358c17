"""Uploads that are written once: the server spools them in the store's folder, and the store gives them their name."""

import errno
import hashlib
import os
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from transaction.interfaces import TransientError

from modhub.base.body_rules import IBodyRules
from modhub.base.errors import ApiError
from modhub.blobs import LocalStore, local, spooled
from modhub.blobs.spooled import SpooledFile
from modhub.catalogue import uploads
from modhub.server import spool
from modhub.server.loop import Server
from modhub.server.spool import open_unnamed
from modhub_testing import TEST_ACCOUNTS, Site, Start
from modhub_testing.mods import OWNER, new_mod
from modhub_testing.running_server import RawClient, running

pytestmark = pytest.mark.slow

CONTENT = os.urandom(700_000)


@pytest.fixture
def site(start: Start) -> Site:
    return start(TEST_ACCOUNTS)


@pytest.fixture
def service(site: Site) -> Iterator[Server]:
    with running(site.app) as service:
        yield service
    assert service.adj.spool.used == 0


@pytest.fixture
def files(site: Site) -> Path:
    folder = Path(str(site.registry.getUtility(IBodyRules).file_folder)).parent
    assert folder.is_dir()
    return folder


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the uploads that were copied."""
    real, copied = local._copy, list[str]()

    def copy(key: str, *args: Any) -> Any:
        copied.append(key)
        return real(key, *args)

    monkeypatch.setattr(local, "_copy", copy)
    return copied


def send(service: Server, mod: Any, content: bytes = CONTENT, version: str = "1", *, chunked: bool = False) -> Any:
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(content)}"
    lines = (f"POST /api/modhub/{mod['id']}/code?version={version} HTTP/1.1", "Host: localhost", framing)
    head = "\r\n".join((*lines, f"Authorization: Bearer account-{OWNER}", "", "")).encode()
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content) if chunked else content
    with RawClient(service) as client:
        return client.ask(head + body)


def stored(files: Path) -> list[Path]:
    return [path for path in files.rglob("*") if path.is_file()]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_upload_is_not_copied(
    site: Site, service: Server, files: Path, copies: list[str], chunked: bool
) -> None:
    # C-UP-1
    mod = new_mod(site)
    assert send(service, mod, chunked=chunked).status == 201
    (path,) = stored(files)
    assert path.parent.name != "staging"
    assert path.read_bytes() == CONTENT
    assert path.stat().st_mode & 0o777 == 0o600
    asset = site.as_account(OWNER).get("/api/modhub/mine").json["mods"][0]["assets"][0]
    assert asset["bytes"] == len(CONTENT)
    assert not copies


def test_what_is_small_or_refused_leaves_nothing_behind(
    site: Site, service: Server, files: Path, copies: list[str]
) -> None:
    # C-UP-4, T-E1
    mod = new_mod(site)
    assert send(service, mod, b"small").status == 201
    assert len(copies) == 1
    before = stored(files)
    assert send(service, mod).status == 409
    assert stored(files) == before
    assert len(copies) == 1


def test_where_the_system_cannot_do_that_it_is_copied(
    site: Site, service: Server, files: Path, copies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mod = new_mod(site)
    monkeypatch.setattr(local, "link_unnamed", lambda *_: False)
    assert send(service, mod).status == 201
    monkeypatch.setattr(spool, "open_unnamed", lambda _: None)
    assert send(service, mod, version="2").status == 201
    assert len(copies) == 2
    assert {path.read_bytes() for path in stored(files)} == {CONTENT}


def test_a_missing_folder_does_not_stop_the_server(site: Site, service: Server, files: Path) -> None:
    (files / "staging").rmdir()
    assert send(service, new_mod(site)).status == 201
    assert [path.read_bytes() for path in stored(files)] == [CONTENT]


def test_a_repeated_transaction_stores_it_once(
    site: Site, service: Server, files: Path, copies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt gave the file its name and removed it again: the kernel gives it no second one."""
    real, attempts = uploads.own_mod, list[int]()

    def conflicting(*args: Any) -> Any:
        attempts.append(1)
        if len(attempts) == 1:
            raise TransientError
        return real(*args)

    monkeypatch.setattr(uploads, "own_mod", conflicting)
    answer = send(service, new_mod(site))
    assert (answer.status, len(attempts)) == (201, 2)
    assert [path.read_bytes() for path in stored(files)] == [CONTENT]


def test_a_body_that_something_replaced_is_not_taken_for_the_file(site: Site, files: Path, copies: list[str]) -> None:
    def application(environ: dict[str, Any], start_response: Any) -> Any:
        if "modhub.body_file" in environ:
            environ.update({"wsgi.input": BytesIO(b"other"), "CONTENT_LENGTH": "5"})
        return site.app(environ, start_response)

    application.registry = site.registry  # type: ignore[attr-defined]
    with running(application) as service:
        assert send(service, new_mod(site)).status == 201
    assert [path.read_bytes() for path in stored(files)] == [b"other"]
    assert len(copies) == 1


def test_uploads_at_once_keep_apart(site: Site, service: Server, files: Path, copies: list[str]) -> None:
    contents = [os.urandom(500_000 + number) for number in range(8)]
    mods = [new_mod(site) for _ in contents]
    jobs = [
        threading.Thread(target=send, args=(service, mod, content)) for mod, content in zip(mods, contents, strict=True)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert {path.read_bytes() for path in stored(files)} == set(contents)
    assert not copies


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "files")


@pytest.fixture
def upload(store: LocalStore) -> Iterator[SpooledFile]:
    file = open_unnamed(str(store.spool_folder))
    assert file is not None
    with file:
        os.pwrite(file.fileno(), CONTENT, 0)
        yield SpooledFile(file)


def test_it_is_hashed_synced_and_readable_for_the_proxy(
    tmp_path: Path, upload: SpooledFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    # T-F3
    store = LocalStore(tmp_path / "files", proxy_location="/_files/")
    synced, real = list[str](), os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    blob = store.stage(upload, len(CONTENT))
    assert (blob.size, blob.sha256) == (len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    assert len(synced) == 1
    staged = tmp_path / "files" / "staging" / blob.key
    assert staged.read_bytes() == CONTENT
    assert staged.stat().st_mode & 0o777 == 0o640
    assert upload.file.tell() == 0
    store.publish(blob.key)
    assert not staged.exists()
    assert store.verify(blob.key, blob.size, blob.sha256) is None


def test_too_much_and_a_failing_disk_leave_nothing(
    store: LocalStore, upload: SpooledFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # T-F2
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "secret")

    with pytest.raises(ApiError) as refused:
        store.stage(upload, len(CONTENT) - 1)
    assert refused.value.status == 413
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ApiError) as refused:
        store.stage(upload, len(CONTENT))
    assert refused.value.status == 502
    assert not stored(tmp_path / "files")


def test_a_file_without_a_name_cannot_be_linked_elsewhere(tmp_path: Path) -> None:
    assert open_unnamed(str(tmp_path / "absent")) is None
    with (tmp_path / "gone").open("w+b") as file:
        (tmp_path / "gone").unlink()
        assert not spooled.link_unnamed(file.fileno(), tmp_path, "name")
        assert not spooled.link_unnamed(file.fileno(), tmp_path / "absent", "name")
