"""``GET /api/modhub/app`` and the downloads."""

import hashlib


def test_downloads_carry_the_headers_of_files(agent):
    # C-APP-7
    body = b"a build of some bytes"
    url = agent.upload("linux", body, query="?name=modhub.tar.gz", content_type="application/gzip").json["url"]
    for path, cache_control in (
        ("/Modhub/app/linux", "no-cache"),
        (url, "public, max-age=31536000, immutable"),
    ):
        answer = agent.site.get(path)
        assert answer.body == body
        headers = answer.headers
        assert headers["Cache-Control"] == cache_control
        assert headers["Content-Type"] == "application/gzip"
        assert headers["ETag"] == f'"{hashlib.sha256(body).hexdigest()}"'
        assert headers["Content-Disposition"] == 'attachment; filename="modhub.tar.gz"'


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
    with agent.site.databases.write_engine.begin() as connection:
        connection.exec_driver_sql(f"DELETE FROM builds_build WHERE id = {urls[2].rpartition('/')[2]}")
    assert agent.site.get(path, headers=asked_by(three), status=200).body == b"two"


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
        f"/Modhub/app/linux/0{number}",
        f"/Modhub/app/linux/{number}%0A",
        f"/Modhub/app/linux/{'9' * 400}",
        f"/Modhub/app/linux/{number}/more",
        "/Modhub/app/lin%00ux",
    ):
        answer = agent.site.get(path, status=404)
        assert answer.content_type == "text/html", path
        assert answer.headers["Cache-Control"] == "no-store"
    assert agent.site.get("/Modhub/app", status=301).headers["Location"] == "/Modhub/App"


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
