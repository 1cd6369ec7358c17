"""Concurrent publishing: every build is kept, every section appears once, each removal takes a different one."""

import pytest
from sqlalchemy import text

from modhub_testing import stored_files
from tests.races import at_once

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.usefixtures("patience")]


def test_twelve_builds_of_one_system_are_all_kept(agents):
    # C-APP-2, T-E7
    bodies = [b"build %d" % number * 1000 for number in range(12)]
    answers = at_once(
        [
            lambda body=body, number=number: agents[number % 2].upload("linux", body, query=f"?version={number}").json
            for number, body in enumerate(bodies)
        ]
    )
    assert len({answer["url"] for answer in answers}) == 12
    for number, answer in enumerate(answers):
        assert agents[0].site.get(answer["url"]).body == bodies[number]
    (build,) = agents[1].list()["builds"]
    ids = [int(version["url"].rpartition("/")[2]) for version in build["versions"]]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 12
    stamps = [version["uploadedAt"] for version in build["versions"]]
    assert stamps == sorted(stamps, reverse=True)
    assert agents[0].site.get("/Modhub/app/linux").body == bodies[int(build["version"])]
    assert len(stored_files(agents[0].site)) == 12


def test_sections_pushed_at_once_are_all_there_once(agents):
    # T-E7
    answers = at_once([lambda n=n: agents[n % 2].push(b"section %02d" % n).json for n in range(8)])
    shown = agents[0].list()["changelog"].split("\n\n")
    assert sorted(shown) == [f"section {n:02d}" for n in range(8)]
    # Each answer tells the length of the whole as it was then: they came one after the other.
    assert sorted(answer["whole"] for answer in answers) == [10 * n + 2 * (n - 1) for n in range(1, 9)]


def test_more_removals_than_sections_leave_nothing_and_tell_404(agents):
    for number in range(3):
        agents[0].push(b"section %d" % number)
    answers = at_once([lambda n=n: agents[n % 2].pop(status="*").status_int for n in range(6)])
    assert sorted(answers) == [200, 200, 200, 404, 404, 404]
    assert agents[0].list()["changelog"] == ""
    with agents[0].site.databases.readonly_engine.connect() as connection:
        hidden = "SELECT count(*) FROM builds_section WHERE hidden_at IS NOT NULL"
        assert connection.execute(text(hidden)).scalar() == 3


def test_a_reader_never_sees_a_build_without_its_file(agents):
    def read():
        for _ in range(30):
            for build in agents[1].list()["builds"]:
                answer = agents[1].site.get(build["url"])
                assert answer.headers["Content-Length"] == str(len(answer.body))
                assert set(answer.body) <= {answer.body[0]}

    def write():
        for number in range(10):
            agents[0].upload("linux", b"%c" % (65 + number) * (1000 + number))

    at_once([read, write, read])
