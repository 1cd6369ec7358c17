"""``modhub-publish`` against the real server."""

import json
import os

import pytest

from modhub_client.publish import command
from modhub_testing.running_server import served

pytestmark = pytest.mark.process

KEY = "the-agents-key"


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("MODHUB_API_KEY", KEY)


@pytest.fixture
def build(tmp_path):
    path = tmp_path / "my build.zip"
    path.write_bytes(os.urandom(300_000))
    return path


@pytest.fixture
def url(agent):
    with served(agent.site.app) as url:
        yield url


def run(url, *words):
    return command.main(["--url", url, *map(str, words)])


def test_a_release_job_that_runs_again_changes_nothing(url, agent, build, tmp_path, capsys):
    # C-OWN-20
    section = tmp_path / "section.txt"
    section.write_bytes(b"\r\n1.4\r\n- New\r\n\r\n")
    for changed in (True, False):
        assert run(url, "app", "windows", build, "--version", "1.4", "--json") == 0
        told = json.loads(capsys.readouterr().out)
        # Always that build's, not the newest's.
        assert told.pop("url") == url + agent.list()["builds"][0]["versions"][0]["url"]
        assert told == {
            "changed": ["app windows"] if changed else [],
            "unchanged": [] if changed else ["app windows"],
        }
        assert run(url, "changelog", section) == 0
        assert ("Unchanged: changelog" in capsys.readouterr().out) is not changed
    listed = agent.list()
    assert len(listed["builds"][0]["versions"]) == 1
    assert (listed["builds"][0]["name"], listed["changelog"]) == ("my build.zip", "1.4\n- New")
    assert agent.site.get("/Modhub/app/windows").body == build.read_bytes()
    assert run(url, "app", "linux", build, "--name", "other.zip") == 0
    assert agent.list()["builds"][1]["name"] == "other.zip"
    assert f"{url}/Modhub/app/linux/" in capsys.readouterr().out
    # Anything else is a release: another version, other bytes.
    assert run(url, "app", "windows", build, "--version", "1.5") == 0
    build.write_bytes(build.read_bytes()[::-1])
    assert run(url, "app", "windows", build, "--version", "1.5") == 0
    assert len(agent.list()["builds"][0]["versions"]) == 3
    section.write_text("1.5")
    assert run(url, "changelog", section) == 0
    # The job of an older release puts nothing on top again.
    capsys.readouterr()
    section.write_text("\n1.4\r\n- New\n", newline="")
    assert run(url, "changelog", section) == 0
    assert capsys.readouterr().out == "Unchanged: changelog\n"
    section.write_text("1.4")
    assert run(url, "changelog", section) == 0
    assert agent.list()["changelog"] == "1.4\n\n1.5\n\n1.4\n- New"
    # Two releases may have the same words, and the service stores characters composed.
    for part, is_new in (("1.6", True), ("- New", True), ("1.7 Cafe\u0301\x07", True), ("1.7 Cafe\u0301\x07", False)):
        section.write_text(part)
        capsys.readouterr()
        assert run(url, "changelog", section) == 0
        assert ("Unchanged" not in capsys.readouterr().out) is is_new, part
    assert run(url, "changelog", "--pop", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["changed"] == ["changelog"]
    assert run(url, "--json", "key") == 0
    assert json.loads(capsys.readouterr().out) == {"changed": [], "unchanged": [], "url": url}


def test_json_of_wiki_pages(start, tmp_path, capsys):
    # C-OWN-20
    site = start("modhub_builds modhub_wiki", ApiPrivateKeys=f"{KEY} Modhub:wiki")
    (tmp_path / "guide").mkdir()
    (tmp_path / "index.md").write_text("# Home")
    (tmp_path / "guide" / "first.md").write_bytes(b"# First\r\n")
    with served(site.app) as url:
        for changed, unchanged in ((["wiki guide/first", "wiki index"], []), ([], ["wiki guide/first", "wiki index"])):
            assert run(url, "wiki", tmp_path, "--json") == 0
            told = json.loads(capsys.readouterr().out)
            assert told == {"changed": changed, "unchanged": unchanged, "removed": [], "skipped": [], "url": url}
        (tmp_path / "index.md").write_text("# Home\n\nMore.")
        assert run(url, "wiki", tmp_path) == 0
        assert capsys.readouterr().out.splitlines() == ["Unchanged: wiki guide/first", "Updated index, revision 2"]
        (tmp_path / "guide" / "first.md").rename(tmp_path / "guide" / "first.png")
        assert run(url, "wiki", tmp_path, "--json") == 0
        assert json.loads(capsys.readouterr().out)["removed"] == []
        assert run(url, "wiki", tmp_path, "--json", "--prune") == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["removed"], told["skipped"]) == (["guide/first"], ["guide/first.png"])
        assert [page["path"] for page in site.get("/Modhub/api/wiki").json["pages"]] == ["index"]
