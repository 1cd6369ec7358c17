"""App builds for operators: the command, what verify finds, and what happens without the feature."""

import pytest

from modhub.admin.program import Admin, build_admin_parser
from modhub_testing import stored_files

pytestmark = pytest.mark.slow


def admin_of(site):
    admin = Admin(site.config)
    admin.lines = []
    admin.say = admin.lines.append
    return admin


def run(admin, *words):
    arguments = build_admin_parser(admin.config).parse_args(["-c", "x.ini", *words])
    return arguments.run(admin, arguments)


def test_what_is_swept_while_it_is_out_is_none_of_its_files(agent, start):
    # C-RUN-7
    url = str(agent.site.registry.settings["sqlalchemy.url"])
    build = agent.upload("linux", b"kept").json["url"]
    agent.push(b"1.0")
    without = start("", url=url)
    admin = admin_of(without)
    assert run(admin, "sweep", "--older-than", "0") == 0
    assert run(admin, "verify") == 0
    again = start("modhub_builds", url=url)
    assert again.get(build).body == b"kept"
    assert again.get("/api/modhub/app").json["changelog"] == "1.0"


def test_the_operator_lists_and_removes_builds(agent):
    admin = admin_of(agent.site)
    kept, removed = (agent.upload("linux", b"x" * size, query=f"?version={size}").json for size in (10, 20))
    assert run(admin, "build", "list") == 0
    assert admin.lines == [
        f"{removed['url']}: 20, modhub-linux.zip, 20 bytes",
        f"{kept['url']}: 10, modhub-linux.zip, 10 bytes",
    ]
    number = removed["url"].rpartition("/")[2]
    assert run(admin, "build", "remove", "windows", number, "--yes") == 1
    assert run(admin, "build", "remove", "linux", number, "--yes") == 0
    assert run(admin, "build", "remove", "linux", number, "--yes") == 1
    assert agent.site.get("/Modhub/app/linux").body == b"x" * 10
    agent.site.get(removed["url"], status=404)
    assert agent.list()["builds"][0]["version"] == "10"
    assert len(stored_files(agent.site)) == 2
    assert run(admin, "sweep", "--older-than", "0") == 0
    assert len(stored_files(agent.site)) == 1
    assert run(admin, "verify") == 0
    again = agent.upload("linux").json["url"]
    assert int(again.rpartition("/")[2]) > int(number)
