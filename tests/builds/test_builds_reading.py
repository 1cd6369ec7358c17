"""``GET /api/modhub/app`` and the downloads."""

import hashlib
import re
from base64 import b64encode

import pytest

from modhub_builds.services import remove_build
from modhub_testing import stored_files

STAMP = re.compile(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z\Z")


def test_nothing_yet(site):
    assert site.get("/api/modhub/app").json == {"builds": [], "changelog": ""}


def test_one_entry_for_each_system_with_all_its_versions(agent):
    # C-APP-5
    first = agent.upload("windows", b"one", query="?name=a.zip&version=1").json
    agent.upload("linux", b"three")
    second = agent.upload("windows", b"second", query="?name=b.zip&version=2").json
    linux, windows = sorted(agent.list()["builds"], key=lambda build: build["os"])
    assert list(windows) == ["os", "version", "name", "bytes", "uploadedAt", "url", "versions"]
    versions = windows.pop("versions")
    assert STAMP.match(windows["uploadedAt"])
    newest = {"version": "2", "name": "b.zip", "bytes": 6, "uploadedAt": windows["uploadedAt"]}
    assert windows == {"os": "windows", **newest, "url": "/Modhub/app/windows"}
    assert versions[0] == {**newest, "url": second["url"]}
    assert versions[1]["uploadedAt"] < versions[0]["uploadedAt"]
    assert versions[1] == {
        "version": "1",
        "name": "a.zip",
        "bytes": 3,
        "uploadedAt": versions[1]["uploadedAt"],
        "url": first["url"],
    }
    assert len(versions) == 2
    assert len(linux["versions"]) == 1


def test_the_order_of_systems(agent):
    # C-APP-6
    for os in ("zos", "macos", "android", "linux", "7", "windows", "linux-arm64"):
        agent.upload(os)
    order = [build["os"] for build in agent.list()["builds"]]
    assert order == ["windows", "linux", "macos", "7", "android", "linux-arm64", "zos"]


def test_the_list_is_public_and_revalidated(agent):
    answer = agent.site.get("/api/modhub/app")
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Set-Cookie" not in answer.headers
    etag = answer.headers["ETag"]
    assert agent.site.get("/api/modhub/app", headers={"If-None-Match": etag}, status=304).body == b""
    agent.upload()
    changed = agent.site.get("/api/modhub/app", headers={"If-None-Match": etag})
    assert changed.headers["ETag"] != etag
    head = agent.site.head("/api/modhub/app")
    assert (head.body, head.headers["ETag"]) == (b"", changed.headers["ETag"])
    assert agent.site.get("/api/modhub/app/").body == changed.body


def test_builds_that_were_removed_by_hand_are_gone_from_the_list(agent):
    urls = [agent.upload("linux").json["url"] for _ in range(4)]
    for place in (1, -1):
        assert [version["url"] for version in agent.list()["builds"][0]["versions"]] == urls[::-1]
        removed = urls.pop(place)
        with agent.site.databases.write_session.begin() as session:
            remove_build(session, "linux", int(removed.rpartition("/")[2]))
        assert [version["url"] for version in agent.list()["builds"][0]["versions"]] == urls[::-1]
        agent.site.get(removed, status=404)
    for url in urls:
        agent.site.get(url)


def test_downloads_carry_the_headers_of_files(agent):
    # C-APP-7
    body = b"a build of some bytes"
    url = agent.upload("linux", body, query="?name=modhub.tar.gz", content_type="application/gzip").json["url"]
    digest = hashlib.sha256(body)
    for path, cache_control in (
        ("/Modhub/app/linux", "no-cache"),
        (url, "public, max-age=31536000, immutable"),
    ):
        answer = agent.site.get(path)
        assert answer.body == body
        headers = answer.headers
        assert headers["Cache-Control"] == cache_control
        assert headers["Content-Type"] == "application/gzip"
        assert headers["Content-Length"] == str(len(body))
        assert headers["ETag"] == f'"{digest.hexdigest()}"'
        assert headers["Repr-Digest"] == f"sha-256=:{b64encode(digest.digest()).decode()}:"
        assert headers["Content-Disposition"] == 'attachment; filename="modhub.tar.gz"'
        assert headers["Accept-Ranges"] == "bytes"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in headers["Content-Security-Policy"]
        assert headers["Last-Modified"].endswith("GMT")
        assert headers["Vary"] == "Sec-Fetch-Dest, Sec-Fetch-Site"
        assert "Set-Cookie" not in headers
        part = agent.site.get(path, headers={"Range": "bytes=2-6"}, status=206)
        assert (part.body, part.headers["Content-Range"]) == (body[2:7], f"bytes 2-6/{len(body)}")
        agent.site.get(path, headers={"Range": "bytes=900-"}, status=416)
        agent.site.get(path, headers={"If-None-Match": headers["ETag"]}, status=304)
        assert agent.site.head(path).headers["Content-Length"] == str(len(body))
        agent.site.get(path + "/")


@pytest.mark.parametrize("kind", ["text/html", "image/png", "image/svg+xml", "application/xhtml+xml"])
def test_a_build_is_saved_and_never_shown(agent, kind):
    agent.upload("linux", b"<script>alert(1)</script>", content_type=kind)
    answer = agent.site.get("/Modhub/app/linux")
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["Content-Type"] == kind
    embedding = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "script"}
    agent.site.get("/Modhub/app/linux", headers=embedding, status=403)


def test_the_newest_address_follows_and_the_other_stays(agent):
    # C-APP-4, C-APP-7
    first = agent.upload("linux", b"first").json["url"]
    assert agent.site.get("/Modhub/app/linux").body == b"first"
    second = agent.upload("linux", b"second").json["url"]
    assert agent.site.get("/Modhub/app/linux").body == b"second"
    assert [agent.site.get(url).body for url in (first, second)] == [b"first", b"second"]


def asked_by(answer):
    """The next condition of a client that kept only the date of ``answer``."""
    return {"If-Modified-Since": answer.headers["Last-Modified"]}


def test_a_date_is_good_for_the_build_that_it_came_with_alone(agent):
    """Also for two builds from the same second, and when the newest is withdrawn and an older one takes its place."""
    path = "/Modhub/app/linux"
    urls, answers = [], []
    for body in (b"one", b"two", b"three"):
        urls.append(agent.upload("linux", body).json["url"])
        answers.append(agent.site.get(path))
        for before in answers[:-1]:
            assert agent.site.get(path, headers=asked_by(before), status=200).body == body
    later = {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}
    agent.site.get(path, headers=later, status=200)
    agent.site.get(urls[0], headers=later, status=304)
    with agent.site.databases.write_engine.begin() as connection:
        # As long ago, so that none of their seconds is still to come.
        connection.exec_driver_sql("UPDATE builds_build SET uploaded_at = uploaded_at - 60000000")
    three = agent.site.get(path)
    agent.site.get(path, headers=asked_by(three), status=304)
    agent.site.head(path, headers=asked_by(three), status=304)
    agent.site.get(path, headers={"If-Unmodified-Since": three.headers["Last-Modified"]}, status=200)
    with agent.site.databases.write_engine.begin() as connection:
        connection.exec_driver_sql(f"DELETE FROM builds_build WHERE id = {urls[2].rpartition('/')[2]}")
    assert agent.site.get(path, headers=asked_by(three), status=200).body == b"two"
    agent.site.get(path, headers={"If-Unmodified-Since": three.headers["Last-Modified"]}, status=412)
    # Another system's builds are nobody's business here.
    agent.upload("windows", b"two")
    agent.site.get(path, headers=asked_by(agent.site.get(path)), status=304)


def test_unknown_addresses_are_404_pages(agent):
    url = agent.upload("linux").json["url"]
    number = url.rpartition("/")[2]
    for path in (
        "/Modhub/app/windows",
        "/Modhub/app/LINUX",
        "/Modhub/App/linux",
        f"/Modhub/app/windows/{number}",
        f"/Modhub/App/linux/{number}",
        "/Modhub/app/linux/999999",
        "/Modhub/app/linux/0",
        f"/Modhub/app/linux/-{number}",
        f"/Modhub/app/linux/{number}.0",
        f"/Modhub/app/linux/{number}%0A",
        f"/Modhub/app/linux/%20{number}",
        "/Modhub/app/linux/%D9%A3",
        "/Modhub/app/linux/99999999999999999999999",
        f"/Modhub/app/linux/{'9' * 400}",
        f"/Modhub/app/linux/{number}/more",
        "/Modhub/app/lin%00ux",
        "/Modhub/app/linux%0A",
        f"/Modhub/app/{'x' * 300}",
    ):
        answer = agent.site.get(path, status=404)
        assert answer.content_type == "text/html", path
        assert answer.headers["Cache-Control"] == "no-store"
    assert agent.site.get("/api/modhub/app/linux/1", status=404).json["error"] == "not_found"


def test_a_number_has_one_spelling(agent):
    url = agent.upload("linux").json["url"]
    number = url.rpartition("/")[2]
    assert agent.site.get(f"/Modhub/app/linux/{number}").body == b"a build"
    for odd in (f"00{number}", f"0{number}", f"+{number}", f"{number}.0"):
        agent.site.get(f"/Modhub/app/linux/{odd}", status=404)


def test_a_lost_file_is_503_and_never_404(agent):
    url = agent.upload("linux").json["url"]
    for path in stored_files(agent.site):
        path.unlink()
    answer = agent.site.get(url, status=503)
    assert int(answer.headers["Retry-After"]) > 0


def test_the_list_takes_three_statements_when_something_has_changed_and_else_one(agent):
    def count_statements():
        with agent.site.counted() as statements:
            agent.site.get("/api/modhub/app")
        return len(statements)

    for _ in range(3):
        for number in range(4):
            agent.upload(f"os-{number}")
            agent.push(b"section")
        assert [count_statements(), count_statements(), count_statements()] == [3, 1, 1]
    with agent.site.counted() as statements:
        agent.site.get("/Modhub/app/os-1")
    assert len(statements) == 1
