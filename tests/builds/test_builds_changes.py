"""Builds and the app changelog are kinds of the list of changes."""

import pytest

from modhub.admin import program as admin
from modhub.db.changes import ChangeReader

pytestmark = pytest.mark.postgres


def kinds(site):
    return [(entry.kind, entry.what) for entry in site.find_service(ChangeReader).page(0, 10).changes]


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
    admin.run_command(agent.site.config, ["-c", "x", "build", "remove", "windows", build, "--yes"])
    assert kinds(agent.site) == [("app_changelog", "deleted"), ("build", "deleted")]
