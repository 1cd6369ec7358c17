"""App builds as a feature: enabling, removing, migrations, demo data."""

import pytest

import modhub
from modhub.admin import migrate
from modhub.admin.program import Admin, build_admin_parser
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore, maintenance
from modhub.db import Databases
from modhub.plugins.declarations import Declarations
from modhub_testing import TEST_SECRET, stored_files

pytestmark = pytest.mark.slow


def admin_of(site):
    admin = Admin(site.config)
    admin.lines = []
    admin.say = admin.lines.append
    return admin


def run(admin, *words):
    arguments = build_admin_parser(admin.config).parse_args(["-c", "x.ini", *words])
    return arguments.run(admin, arguments)


@pytest.mark.postgres
def test_models_and_migrations_agree(site):
    own = next(migration for migration in site.declarations.migrations if migration.package == "modhub_builds")
    assert migrate.schema_differences(site.databases, own) == []


def test_without_the_line_nothing_of_it_is_there(start):
    site = start("", ApiPrivateKeys="k")
    site.post("/api/modhub/app/linux", b"x", headers={"X-Api-Key": "k"}, status=404)
    for path in ("/Modhub/App", "/Modhub/app/linux", "/api/modhub/app"):
        site.get(path, status=404)
    assert "/Modhub/App" not in site.get("/Modhub")
    assert "Modhub:app" not in site.declarations.scopes
    assert "build" not in site.declarations.commands


def test_taken_out_and_put_back_it_has_everything(agent, start):
    # C-RUN-7
    url = str(agent.site.registry.settings["sqlalchemy.url"])
    build = agent.upload("linux", b"kept").json["url"]
    agent.push(b"1.0")
    without = start("", url=url)
    databases, packages = without.databases, without.declarations.migrations
    assert migrate.upgrade(databases, packages) == []
    without.get("/api/modhub")
    admin = admin_of(without)
    assert run(admin, "sweep", "--older-than", "0") == 0
    assert run(admin, "verify") == 0
    again = start("modhub_builds", url=url)
    migrate.refuse_when_behind(again.databases, again.declarations.migrations)
    assert again.get(build).body == b"kept"
    assert again.get("/api/modhub/app").json["changelog"] == "1.0"


def test_added_to_a_core_that_runs_already_it_asks_for_its_migration(new_database):
    settings = {"sqlalchemy.url": new_database(""), "modhub.secret": TEST_SECRET, "pyramid.includes": "modhub_builds"}
    registry = modhub.configure(settings).registry
    databases, packages = find_service(registry, Databases), find_service(registry, Declarations).migrations
    with pytest.raises(StartRefused, match="modhub_builds"):
        migrate.refuse_when_behind(databases, packages)
    assert migrate.upgrade(databases, packages) == ["modhub_builds"]
    migrate.refuse_when_behind(databases, packages)
    databases.dispose()


@pytest.mark.postgres
def test_the_demo_fills_builds_and_changelog_once(site):
    admin = admin_of(site)
    fill = next(fill for name, fill in site.declarations.demos if name == "App builds")
    for _ in range(2):
        site.config.maybe_dotted(fill)(admin)
    listed = site.get("/api/modhub/app").json
    assert [(build["os"], len(build["versions"])) for build in listed["builds"]] == [
        ("windows", 2),
        ("linux", 2),
        ("macos", 1),
    ]
    assert len(listed["changelog"].split("\n\n")) == 2
    assert site.get("/Modhub/app/windows").body[:2] == b"PK"


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


def test_verify_names_a_build_whose_file_is_damaged(agent):
    agent.upload("linux", b"right")
    (path,) = stored_files(agent.site)
    path.write_bytes(b"wrong")
    with admin_of(agent.site).reading() as session:
        assert list(maintenance.blob_damage(session, agent.site.find_service(BlobStore))) != []


def test_the_feature_is_named(site):
    assert [(feature.name, feature.title) for feature in site.declarations.features] == [
        ("modhub_builds", "App builds")
    ]
