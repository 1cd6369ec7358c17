"""``POST /api/modhub/app/{os}``: what is accepted and rejected; nothing is stored after an error."""

import os as system
from urllib.parse import quote

import pytest

from modhub.base.body_rules import IBodyRules
from modhub.blobs import BlobStore
from modhub_builds import limits
from modhub_testing import stored_files

MB = 1024 * 1024


def test_plausible_platforms(agent):
    # C-APP-1
    for os in ("windows", "a", "0", "7", "linux-arm64", "a-b-c-d", "freebsd14", "con", "feed", "x" * 32, "1" * 32):
        assert agent.upload(os).json["os"] == os
        assert agent.site.get(f"/Modhub/app/{os}").body == b"a build"


HOSTILE = [
    "WINDOWS", "Windows", "win dows", "windows%0a", "windows%0d", "%20windows", "windows%20", "windows%00", "-windows",
    "windows-", "win--dows", "-", "--", "win_dows", "win.dows", "windows;x", "windows:1", "windows*", "*", "~", "@feed",
    "x" * 33, "x" * 300, "%D9%A3", "%EF%BD%97indows", "%C3%A9", "w%CC%81", "%C4%B1os", "%E2%84%AA", "a%5Cb",
    "windows%E2%80%AE", "%F0%9F%92%A9", "%5E", "windows%09", "windows%3Fx", "Changelog",
]  # fmt: skip


def test_implausible_platforms_are_400_and_keep_nothing(agent):
    # C-APP-1, T-A6
    for os in HOSTILE:
        answer = agent.upload(os, status=400)
        assert answer.json["error"] == "invalid_input"
        assert "operating system" in answer.json["message"], os
        assert "at most 32 characters" in answer.json["message"], os
    assert agent.list()["builds"] == []
    assert stored_files(agent.site) == []


NAMES = {
    "..": "modhub-linux.zip",
    "../../etc/passwd": "passwd",
    "Überlauf 日本.zip": "Überlauf 日本.zip",
    "x" * 4096 + ".zip": "x" * 251 + ".zip",
    'a"b;c.zip': 'a"b;c.zip',
}


def test_names_are_leaves(agent):
    # C-APP-3
    for sent, kept in NAMES.items():
        agent.upload("linux", query=f"?name={quote(sent)}")
        assert agent.list()["builds"][0]["name"] == kept
        disposition = agent.site.get("/Modhub/app/linux").headers["Content-Disposition"]
        assert disposition.startswith("attachment; ")
        assert disposition.isascii()
        assert disposition.isprintable()


def test_versions_are_labels_and_never_refused(agent):
    # C-APP-3, T-A7
    for sent, kept in {"  1.4 \t": "1.4", "<b>": "<b>", "9" * MB: "9" * 64}.items():
        assert agent.upload(query=f"?version={quote(sent)}").json["version"] == kept


def test_the_type_is_stored(agent):
    # C-APP-3
    octets = "application/octet-stream"
    html = "text/html; charset=utf-8"
    for sent, kept in {
        "application/zip": "application/zip",
        html: html,
        "nonsense": octets,
        "a/b" * 200: octets,
    }.items():
        agent.upload(content_type=sent)
        assert agent.site.get("/Modhub/app/windows").headers["Content-Type"] == kept


def test_a_form_around_the_build_is_400_and_nothing_is_kept(agent):
    # C-APP-3, T-A9
    form = b'--B\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\nPK\r\n--B--\r\n'
    sent = "Multipart/form-data; boundary=B"
    assert "the file itself" in agent.upload(body=form, status=400, content_type=sent).json["message"]
    keyless = type(agent)(agent.site, None)
    assert keyless.upload(body=form, status=401, content_type=sent).json == {"error": "no_api_key"}
    assert stored_files(agent.site) == []
    assert agent.list()["builds"] == []


def test_a_build_has_its_limit_and_no_byte_more(agent, monkeypatch):
    # C-APP-3
    assert limits.BUILD == 64 * MB
    monkeypatch.setattr(limits, "BUILD", 1000)
    assert agent.upload(body=b"x" * 1000).json["bytes"] == 1000
    assert agent.upload(body=b"y" * 1001, status=413).json["limitBytes"] == 1000
    # Without a length it is counted as it comes.
    environ = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    agent.site.extra_environ.update(environ)
    assert agent.upload(body=b"x" * 1000).json["bytes"] == 1000
    assert agent.upload(body=b"x" * 1001, status=413).json["limitBytes"] == 1000
    assert len(stored_files(agent.site)) == 2


def test_the_server_knows_the_limits_and_the_credential(agent):
    rules = agent.site.registry.getUtility(IBodyRules)
    build = rules.find("POST", "/api/modhub/app/linux")
    section = rules.find("POST", "/api/modhub/app/changelog")
    assert (build.limit, build.credential) == (64 * MB, "X-Api-Key")
    assert (section.limit, section.credential) == (256 * 1024, "X-Api-Key")
    assert rules.find("DELETE", "/api/modhub/app/changelog").credential == "X-Api-Key"


def test_a_limit_that_the_server_met_is_413_only_for_who_has_the_key(agent):
    agent.site.extra_environ["modhub.body_limit_exceeded"] = 64 * MB
    assert agent.upload(status=413).json["limitBytes"] == 64 * MB
    agent.headers["X-Api-Key"] = "wrong"
    assert agent.upload(status=401).json == {"error": "unknown_api_key"}


def test_without_storage_uploads_are_503_and_reads_go_on(start):
    site = start("modhub_builds", ApiPrivateKeys="k", modhub__storage="")
    headers = {"X-Api-Key": "k"}
    answer = site.post("/api/modhub/app/linux", b"x", headers=headers, status=503)
    assert answer.json["error"] == "storage_not_configured"
    assert "Retry-After" not in answer.headers
    site.post("/api/modhub/app/NO", b"x", headers=headers, status=400)
    site.post("/api/modhub/app/changelog", b"x", headers=headers, status=201)
    assert site.get("/api/modhub/app").json == {"builds": [], "changelog": "x"}


def test_a_store_that_refuses_is_502_and_keeps_nothing(agent, monkeypatch):
    store = agent.site.find_service(BlobStore)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(system, "fsync", full)
    answer = agent.upload(status=502)
    assert answer.json["error"] == "storage_refused"
    monkeypatch.undo()
    assert list(store.keys()) == []
    assert agent.list()["builds"] == []
    agent.upload()


def test_a_commit_that_fails_keeps_no_file(agent, monkeypatch):
    def broken(*_):
        raise RuntimeError("the commit failed")

    monkeypatch.setattr("modhub_builds.views.newest_url", broken)
    agent.upload(status=500)
    assert stored_files(agent.site) == []
    assert agent.list()["builds"] == []


@pytest.mark.postgres
def test_builds_are_kept_and_no_id_comes_twice(agent):
    # C-MOD-2, T-B5
    numbers = [int(agent.upload().json["url"].rpartition("/")[2]) for _ in range(3)]
    with agent.site.databases.write_engine.begin() as connection:
        connection.exec_driver_sql(f"DELETE FROM builds_build WHERE id = {numbers[-1]}")
    again = int(agent.upload().json["url"].rpartition("/")[2])
    assert again > max(numbers)
    assert len(agent.list()["builds"][0]["versions"]) == 3
