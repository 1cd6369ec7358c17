"""App builds: the command, what verify finds, the list of changes, and what happens without the feature."""

from functools import partial

import pytest

from modhub.admin.program import run_command
from modhub.db.changes import ChangeReader
from modhub_testing import stored_files
from tests.people import actions

pytestmark = pytest.mark.slow


@pytest.mark.postgres
def test_the_operator_lists_and_removes_builds(agent, run_admin):
    # C-MOD-2, T-B5
    run = partial(run_admin, agent.site)
    kept, removed = (agent.upload("linux", b"x" * size, query=f"?version={size}").json for size in (10, 20))
    assert run("build", "list") == (
        0,
        f"{removed['url']}: 20, modhub-linux.zip, 20 bytes\n{kept['url']}: 10, modhub-linux.zip, 10 bytes\n",
    )
    number = removed["url"].rpartition("/")[2]
    assert run("build", "remove", "windows", number, "--yes")[0] == 1
    assert run("build", "remove", "linux", number, "--yes")[0] == 0
    assert run("build", "remove", "linux", number, "--yes")[0] == 1
    assert agent.site.get("/Modhub/app/linux").body == b"x" * 10
    agent.site.get(removed["url"], status=404)
    assert actions(agent.site)[-1] == "build removed"
    assert agent.list()["builds"][0]["version"] == "10"
    assert len(stored_files(agent.site)) == 2
    assert run("sweep", "--older-than", "0")[0] == 0
    assert len(stored_files(agent.site)) == 1
    assert run("verify")[0] == 0
    again = agent.upload("linux").json["url"]
    assert int(again.rpartition("/")[2]) > int(number)


def kinds(site):
    return [(entry.kind, entry.what) for entry in site.find_service(ChangeReader).page(0, 10).changes]


@pytest.mark.postgres
def test_each_publication_and_removal_is_a_change(agent):
    # C-SYNC-7
    build = agent.upload().json["url"].rpartition("/")[2]
    assert kinds(agent.site) == [("build", "published")]
    agent.push()
    assert kinds(agent.site) == [("build", "published"), ("app_changelog", "published")]
    agent.upload(os="linux")
    agent.pop()
    assert kinds(agent.site) == [("build", "published"), ("app_changelog", "deleted")]
    agent.upload(query="?version=1", content_type="multipart/form-data", status=400)
    agent.pop(status=404)
    run_command(agent.site.config, ["-c", "x", "build", "remove", "windows", build, "--yes"])
    assert kinds(agent.site) == [("app_changelog", "deleted"), ("build", "deleted")]
