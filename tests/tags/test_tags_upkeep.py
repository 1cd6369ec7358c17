"""The operator's list, backups, the demo, migrations, and what happens at the same time."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import insert, select

from modhub.base.errors import ApiError, OwnershipLost
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.plugins.services import IMods
from modhub_tags import services
from modhub_tags.models import ModTag
from modhub_testing.mods import published_mod
from tests.people import actions, write

from .conftest import FEATURES, SHIPPED, tag, tags_of


@pytest.fixture
def run(site, run_admin):
    return partial(run_admin, site, "tag")


def listed(site):
    return {entry["name"]: entry["titles"] for entry in site.get("/api/modhub/tags").json["tags"]}


def test_the_operator_keeps_the_list(site, run):
    # C-TAG-1, C-TAG-2
    assert run("list")[1].splitlines()[6] == "map: Map, Karte"
    lines = [json.loads(line) for line in run("list", "--json")[1].splitlines()]
    assert [line["name"] for line in lines] == SHIPPED
    assert lines[6] == {"name": "map", "titles": {"en": "Map", "de": "Karte"}}
    dry = run("add", "speed-run", "--en", "Speedrun", "--dry-run")
    assert dry == (0, "The tag speed-run would be added to the list. Nothing was changed.\n")
    assert "speed-run" not in listed(site)
    assert run("add", "speed-run", "--en", " Speed\nrun ")[0] == 0
    assert listed(site)["speed-run"] == {"en": "Speed run", "de": "Speed run"}
    changed = run("add", "speed-run", "--en", "Speedy", "--de", "Schnell" * 10)
    assert changed == (0, "The tag speed-run was titled.\n")
    assert listed(site)["speed-run"] == {"en": "Speedy", "de": ("Schnell" * 10)[:40]}
    assert run("remove", "speed-run")[0] == 0
    for name, title in (("HUD", "x"), ("x" * 33, "x"), ("a", " ")):
        with pytest.raises(StartRefused):
            run("add", name, "--en", title)
    assert list(listed(site)) == SHIPPED
    assert run("remove", "no")[0] == 1


@pytest.mark.postgres
def test_a_removed_tag_leaves_the_mods(site, run):
    # C-TAG-1
    mods = [published_mod(site) for _ in range(2)]
    for mod in mods:
        tag(site, mod, "map", "timer")
    assert [tags_of(site, mod) for mod in mods] == [["map", "timer"]] * 2
    assert actions(site)[-1] == "tags changed"
    would, done = (run("remove", "map", *more) for more in (["--dry-run"], []))
    assert would[1].startswith("The tag map would be removed from the list and from 2 mods.")
    assert done[1] == "The tag map was removed from the list and from 2 mods.\n"
    assert [tags_of(site, mod) for mod in mods] == [["timer"]] * 2
    assert site.get("/Modhub?tag=map").html.find(id="results").text == "0 mods"
    tag(site, mods[0], "map", status=400)
    run("add", "map", "--en", "Map")
    assert [tags_of(site, mod) for mod in mods] == [["timer"]] * 2


@pytest.mark.postgres
def test_changes_that_meet_happen_one_after_the_other(site):
    # C-TAG-3, C-TAG-1
    mod, mods = published_mod(site), find_service(site.registry, IMods)

    def change_to(*names):
        return lambda session: services.change_tags(session, mods, mod["id"], 7, [*names])

    def remove(name):
        return lambda session: services.remove_tag(session, name)

    def commit(act):
        with site.databases.write_session.begin() as session:
            return act(session)

    def meet(first, second):
        """What the second answers: it waits until the first is committed."""
        with ThreadPoolExecutor(1) as pool:
            with site.databases.write_session.begin() as session:
                first(session)
                waiting = pool.submit(commit, second)
                with pytest.raises(TimeoutError):
                    waiting.result(0.3)
            return waiting.result()

    assert meet(change_to(*SHIPPED[1:6]), change_to(*SHIPPED[5:10])) == SHIPPED[5:10]
    assert tags_of(site, mod) == SHIPPED[5:10]
    assert meet(change_to("map", "timer"), remove("map")) == 1
    assert tags_of(site, mod) == ["timer"]
    with pytest.raises(ApiError, match="is not in the list of tags"):
        meet(remove("hud"), change_to("hud"))


def test_somebody_elses_mod_is_refused_by_the_service_too(site):
    # C-OWN-12
    mod, mods = published_mod(site), find_service(site.registry, IMods)
    for mod_id, owner in ((mod["id"], 8), (10**6, 7), (None, 7)):
        with pytest.raises(OwnershipLost), site.databases.write_session.begin() as session:
            services.change_tags(session, mods, mod_id, owner, ["map"])


def test_the_setting_names_what_the_front_leaves_out(start):
    # C-FRONT-7
    def left_out(site):
        with site.databases.readonly_session() as session:
            statements = (select(each.mod_id).where(each.off_front) for each in site.declarations.off_front)
            return sorted(mod_id for statement in statements for mod_id in session.scalars(statement))

    site = start(FEATURES)
    library, both, other = (published_mod(site)["id"] for _ in range(3))
    write(site, insert(ModTag).values([(library, "library"), (both, "library"), (both, "map"), (other, "tool")]))
    url = site.registry.settings["sqlalchemy.url"]
    assert left_out(site) == [library, both]
    assert left_out(start(FEATURES, url=url, modhub_tags__off_front="tool chat")) == [other]
    assert left_out(start(FEATURES, url=url, modhub_tags__off_front="")) == []
    with pytest.raises(StartRefused, match=r"modhub_tags\.off_front"):
        start(FEATURES, url=url, modhub_tags__off_front="Library")
