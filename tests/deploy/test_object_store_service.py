"""The service with its files in an object store."""

import io
import ssl
import time

import pytest
from sqlalchemy import text

from modhub.admin.program import run_command
from modhub.blobs import BlobStore, maintenance
from modhub.blobs.s3 import S3Store
from modhub_testing.commands import issue_certificate
from modhub_testing.lines import Line
from modhub_testing.mods import mod_address, new_mod, publish_test_mod, upload_asset

LONG = b"".join(b"%015d\n" % number for number in range(700_000))
ADDRESS_KEY = "the address key"


def stored_there(store, prefix, endpoint=""):
    """The settings of a service whose files are in the object store, as `start` takes them."""
    settings = {**store.service_settings(prefix, endpoint), "modhub.storage_address_key": ADDRESS_KEY}
    return {name.replace(".", "__"): value for name, value in settings.items()}


def eventually(holds, seconds):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.postgres
def test_files_go_there_and_come_back(object_store, prefix, start):
    # C-FILE-1, C-RUN-6
    site = start(**stored_there(object_store, prefix))
    assert site.get("/readyz").json["storage"] == "ok"
    mod = new_mod(site)
    upload_asset(site, mod, "code", LONG, version="1", name="mod.zip")
    publish_test_mod(site, mod)
    address = mod_address(mod, "download")
    assert site.get(address).body == LONG
    handed = []

    def wrapper(file, _size):
        handed.append(type(file))
        with file:
            return [file.read(16)]

    site.get(address, headers={"Range": "bytes=16-31"}, extra_environ={"wsgi.file_wrapper": wrapper}, status=206)
    assert handed == [io.FileIO], "the server sends nothing else without reading it in its loop"
    upload_asset(site, mod, "code", b"another", version="2", name="mod.zip")
    store = site.find_service(BlobStore)
    assert maintenance.sweep(site.databases, store, 0) == (1, 0)
    assert len(list(store.keys())) == 1
    with site.databases.readonly_session() as session:
        assert list(maintenance.blob_damage(session, store)) == []
    key, _ = next(store.keys())
    object_store.object(f"{prefix}/{key}", b"changed")
    assert site.get(address, status=503).json["error"] == "storage_unreachable"
    with site.databases.readonly_session() as session:
        assert len(list(maintenance.blob_damage(session, store))) == 1


@pytest.mark.postgres
def test_the_reported_address_is_the_endpoint_in_every_process(object_store, line, prefix, start, new_database):
    # C-ADDR-5
    url = new_database("")
    nowhere = stored_there(object_store, prefix, "http://127.0.0.1:1")
    first, second = start("", url=url, **nowhere), start("", url=url, **nowhere)

    def endpoint(site):
        store = site.find_service(BlobStore)
        assert isinstance(store, S3Store)
        return store.connection.endpoint()

    assert endpoint(second) == "http://127.0.0.1:1"
    assert second.get("/readyz", status=503).json["storage"] == "unreachable"
    body = {"baseUrl": "https://files.example.org:8443"}
    first.post_json("/api/modhub/storage/address", body, headers={"X-Api-Key": ADDRESS_KEY}, status=200)
    for site in (first, second):
        eventually(lambda site=site: endpoint(site) == "https://files.example.org:8443", 5)
    # No https on this machine: a report cannot name it, the row can.
    with first.databases.write_session.begin() as session:
        session.execute(text("UPDATE core_storage_address SET base_url = :line"), {"line": line.endpoint})
    for site in (first, second):
        eventually(lambda site=site: site.get("/readyz", expect_errors=True).status_int == 200, 5)
    assert line.passed > 0


def test_an_endpoint_with_tls_is_used_only_if_its_certificate_is_trusted(
    object_store, prefix, start, tmp_path, monkeypatch
):
    # T-F5
    issued = issue_certificate(tmp_path, "store")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    line = Line(object_store.port, context)
    try:
        settings = stored_there(object_store, prefix, line.endpoint)
        stranger = start(**settings)
        assert stranger.get("/readyz", status=503).json["storage"] == "unreachable"
        mod = new_mod(stranger)
        upload_asset(stranger, mod, "code", version="1", name="a.zip", status=502)
        monkeypatch.setenv("SSL_CERT_FILE", str(issued.authority))
        site = start(**settings)
        assert site.get("/readyz").json["storage"] == "ok"
        mod = new_mod(site)
        upload_asset(site, mod, "code", LONG, version="1", name="mod.zip")
        publish_test_mod(site, mod)
        assert site.get(mod_address(mod, "download")).body == LONG
    finally:
        line.close()


def test_a_backup_of_an_object_store_is_restored_into_another(
    object_store, prefix, start, template_databases, tmp_path
):
    # C-RUN-16, C-RUN-17
    site = start(fresh=True, **stored_there(object_store, prefix))
    mod = new_mod(site)
    upload_asset(site, mod, "code", LONG, version="1", name="mod.zip")
    url = template_databases.new(site.databases.dialect, None, tmp_path / "restored.sqlite")
    other = start(url=url, **stored_there(object_store, f"{prefix}/other"))
    for place, words in ((site, ["backup"]), (other, ["restore"])):
        assert run_command(place.config, ["-c", "my.ini", *words, str(tmp_path / "made")]) == 0
    assert run_command(other.config, ["-c", "my.ini", "verify"]) == 0
    template_databases.drop(url)
