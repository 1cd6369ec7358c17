"""PostgreSQL's bitmaps of parts of words: totals are exact whatever they have taken in, and writers do not wait."""

import random
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

import pytest
from alembic import command
from sqlalchemy import literal, select
from sqlalchemy import text as sql

from modhub.catalogue import bitmap_queries, search_bitmaps
from modhub.catalogue.bitmap_queries import bitmap_total
from modhub.catalogue.read_service import CatalogueReader
from modhub.catalogue.search_bitmaps import BitmapWorker, bitmap_damage, build_bitmaps, merge_changes
from modhub.folding import fold_search
from modhub.ops import migrate
from modhub.ops.admin import Admin, build_admin_parser
from modhub.testing import Site
from modhub.testing.mods import (
    OWNER,
    hide_mod,
    insert_mods,
    mod_address,
    new_mod,
    published_mod,
    restore_mod,
    upload_asset,
)

pytestmark = pytest.mark.parametrize("dialect", ["postgresql"])
LETTERS = "aabbeé%_\\'\":*&|!() 日😀"
SEED = 20261123
NOT_COUNTED = -1
PATIENCE = 60.0


def begin(site: Site) -> Any:
    return site.databases.write_session.begin


def bitmap_count(site: Site, *words: str) -> int:
    """What the bitmaps count; `NOT_COUNTED` where the texts have to be read."""
    reader = site.find_service(CatalogueReader).reader
    statement = reader.prepare(bitmap_total(len(words), select(literal(NOT_COUNTED)).scalar_subquery()))
    counted = reader.rows(statement, **{f"common{number}": word for number, word in enumerate(words)})[0][0]
    assert type(counted) is int
    return counted


def all_parts(site: Site) -> list[str]:
    with site.databases.readonly_session() as session:
        return list(session.scalars(sql("SELECT part FROM fts_core_bitmap_part ORDER BY part")))


def damage(site: Site) -> list[str]:
    with site.databases.readonly_session() as session:
        return list(bitmap_damage(session))


def total(site: Site, q: str) -> int:
    return int(site.get("/api/modhub", {"q": q}).json["total"])


def some_text(rng: random.Random) -> str:
    lines = ("".join(rng.choices(LETTERS, k=rng.randint(1, 20))) for _ in range(rng.randint(1, 3)))
    return "\n".join(map(fold_search, lines))


class Texts:
    """Writes texts as a process of any version may, and knows what is there. Some ids are in other blocks."""

    def __init__(self, site: Site, rng: random.Random) -> None:
        self.site, self.rng, self.texts = site, rng, dict[int, str]()

    def write(self) -> None:
        rng = self.rng
        mod_id = rng.choice([1, 8191, 8192, 20_000]) + rng.randint(0, 9)
        values = {"id": mod_id, "at": rng.randint(1, 999), "text": some_text(rng)}
        if mod_id not in self.texts:
            statements = [
                "INSERT INTO core_public_mod (id, guid, owner, score, updated_at, requires, document) "
                "VALUES (:id, CAST(:id AS text), 1, 0, :at, '', '')",
                "INSERT INTO core_public_text (mod_id, updated_at, text) VALUES (:id, :at, :text)",
            ]
        elif rng.random() < 0.4:
            statements = [
                "DELETE FROM core_public_text WHERE mod_id = :id",
                "DELETE FROM core_public_mod WHERE id = :id",
            ]
        else:
            statements = ["UPDATE core_public_text SET text = :text, updated_at = :at WHERE mod_id = :id"]
        with self.site.databases.write_engine.begin() as connection:
            for statement in statements:
                connection.execute(sql(statement), values)
        if len(statements) == 2 and mod_id in self.texts:
            del self.texts[mod_id]
        else:
            self.texts[mod_id] = values["text"]

    def having(self, *words: str) -> int:
        return sum(all(word in text for word in words) for text in self.texts.values())


def test_bitmaps_count_what_the_texts_have_after_any_writes(site: Site) -> None:
    # C-LIST-4, C-LIST-6
    rng = random.Random(SEED)
    texts = Texts(site, rng)
    by_bitmaps = 0
    for step in range(160):
        texts.write()
        if step % 40 == 20:
            assert build_bitmaps(begin(site), min_mods=1)
        elif rng.random() < 0.1:
            assert merge_changes(begin(site))
        if step % 4 == 0:
            common = all_parts(site)
            for words in [["a"], ["zz"], *(rng.sample(common, rng.randint(1, 3)) for _ in range(6 * bool(common)))]:
                expected = texts.having(*words) if set(words) <= set(common) else NOT_COUNTED
                assert bitmap_count(site, *words) == expected, words
                by_bitmaps += expected > 0
            assert damage(site) == []
    assert by_bitmaps > 60
    signs = "".join(all_parts(site))
    assert all(sign in signs for sign in fold_search(LETTERS) if sign != " ")


def test_drafts_hidden_and_deleted_mods_are_never_counted(site: Site) -> None:
    # C-LIST-6
    mods = [published_mod(site, title=f"amber {number}") for number in range(3)]
    draft = new_mod(site, title="amber draft")
    assert build_bitmaps(begin(site), min_mods=1)
    own = site.as_account(OWNER)

    def totals() -> set[int]:
        assert damage(site) == []
        return {total(site, "amber"), bitmap_count(site, "amber")}

    assert totals() == {3}
    assert "amber 2" in site.get("/Modhub?q=amber")
    hide_mod(site, mods[0])
    assert totals() == {2}
    own.delete(mod_address(mods[1]), status=204)
    assert totals() == {1}
    own.put_json(mod_address(mods[2]), {"title": "basalt"})
    assert totals() == {0}
    restore_mod(site, mods[0])
    upload_asset(site, draft, "code", version="1")
    assert totals() == {1}
    own.post(mod_address(draft, "publish"), status=200)
    assert totals() == {2}
    assert merge_changes(begin(site))
    assert totals() == {2}
    assert total(site, "amber draft") == 1


def test_writers_do_not_wait_and_what_they_have_not_committed_is_not_taken_in(site: Site) -> None:
    # C-LIST-6
    ids = insert_mods(site, [{"title": "amber"}] * 6)
    assert build_bitmaps(begin(site), min_mods=1)
    change = "UPDATE core_public_text SET text = 'basalt' WHERE mod_id = :id"
    with site.databases.write_engine.connect() as first, site.databases.write_engine.connect() as second:
        for connection, mod_id in ((first, ids[0]), (second, ids[1])):
            connection.execute(sql("SET LOCAL lock_timeout = '1ms'"))
            connection.execute(sql(change), {"id": mod_id})
        assert merge_changes(begin(site))
        assert bitmap_count(site, "amber") == 6
        first.commit()
        assert bitmap_count(site, "amber") == 5
        assert merge_changes(begin(site))
        assert bitmap_count(site, "amber") == 5
        second.commit()
    assert bitmap_count(site, "amber") == 4
    assert merge_changes(begin(site))
    assert bitmap_count(site, "amber") == 4
    assert damage(site) == []


def test_one_process_at_a_time_brings_them_up_to_date(site: Site) -> None:
    ids = insert_mods(site, [{"title": "amber"}] * 2)
    with begin(site)() as session:
        assert search_bitmaps._lock(session)
        assert not build_bitmaps(begin(site), min_mods=1)
        assert not merge_changes(begin(site))
    assert build_bitmaps(begin(site), min_mods=1)
    assert bitmap_count(site, "amber") == len(ids)


def test_rebuild_waits_for_a_process_that_is_at_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_bitmaps, "MIN_MODS", 1)
    insert_mods(site, [{"title": "amber"}] * 2)
    arguments = build_admin_parser(site.config).parse_args(["-c", "unused", "rebuild"])
    with ThreadPoolExecutor(1) as pool:
        with begin(site)() as session:
            assert search_bitmaps._lock(session)
            rebuild = pool.submit(arguments.run, Admin(site.config), arguments)
            waiting = sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
            while not rebuild.done() and not session.scalar(waiting):
                sleep(0.01)
            assert not rebuild.done()
        assert rebuild.result(PATIENCE) == 0
    assert bitmap_count(site, "amber") == 2


def test_the_end_of_the_process_gives_up_what_is_being_made(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    # T-F9
    monkeypatch.setattr(search_bitmaps, "MIN_MODS", 1)
    monkeypatch.setattr(search_bitmaps, "ENOUGH_CHANGES", 1)
    monkeypatch.setattr(search_bitmaps, "GIVE_UP_SECONDS", 0.01)
    insert_mods(site, [{"title": "amber"}] * 2)
    worker = BitmapWorker(site.databases)
    with site.databases.write_engine.begin() as connection:
        connection.execute(sql("LOCK TABLE fts_core_bitmap"))
        worker._thread.start(0.0)
        waiting = sql("SELECT count(*) FROM pg_locks WHERE relation = 'fts_core_bitmap'::regclass AND NOT granted")
        while not connection.scalar(waiting):
            sleep(0.01)
        worker.stop()
        assert worker._thread._thread is not None
        assert worker._thread._thread.is_alive()
    worker._thread._thread.join(PATIENCE)
    assert (bitmap_count(site, "amber"), changes(site)) == (NOT_COUNTED, 2)
    assert build_bitmaps(begin(site))
    insert_mods(site, [{"title": "amber"}])
    worker.run_once()
    assert (bitmap_count(site, "amber"), changes(site)) == (3, 1)


def test_with_many_changes_the_texts_are_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitmap_queries, "MAX_CHANGES", 3)
    insert_mods(site, [{"title": "amber"}] * 2)
    assert build_bitmaps(begin(site), min_mods=1)
    insert_mods(site, [{"title": "amber"}] * 3)
    assert bitmap_count(site, "amber") == 5
    insert_mods(site, [{"title": "amber"}])
    assert bitmap_count(site, "amber") == NOT_COUNTED
    assert total(site, "amber") == 6


def test_verify_finds_a_wrong_bitmap_and_rebuild_makes_it_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(search_bitmaps, "MIN_MODS", 1)
    insert_mods(site, [{"title": "amber"}] * 2)
    assert build_bitmaps(begin(site))

    def run(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        arguments = build_admin_parser(site.config).parse_args(["-c", "unused", *words])
        assert arguments.run(Admin(site.config), arguments) == code
        return capsys.readouterr().out

    for statement in ("UPDATE fts_core_bitmap SET hits = ~hits WHERE part = 'amber'", "DELETE FROM fts_core_bitmap"):
        with site.databases.write_engine.begin() as connection:
            connection.execute(sql(statement))
        assert "mods 0 to 8191" in run("verify", code=1)
        run("rebuild")
        assert bitmap_count(site, "amber") == 2
        run("verify")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_bitmaps, "MIN_MODS", 4)
    monkeypatch.setattr(search_bitmaps, "ENOUGH_CHANGES", 3)


def changes(site: Site) -> int:
    with site.databases.readonly_session() as session:
        return session.scalar(sql("SELECT count(*) FROM fts_core_bitmap_change")) or 0


@pytest.mark.usefixtures("small")
def test_the_worker_builds_once_and_then_takes_in_enough_changes(site: Site) -> None:
    worker = BitmapWorker(site.databases)
    insert_mods(site, [{"title": "amber"}] * 3)
    worker.run_once()
    # Too few mods: nothing is built, and no changes are kept.
    assert (bitmap_count(site, "amber"), changes(site)) == (NOT_COUNTED, 0)
    insert_mods(site, [{"title": "amber"}])
    worker.run_once()
    assert (bitmap_count(site, "amber"), changes(site)) == (4, 0)
    insert_mods(site, [{"title": "amber"}] * 2)
    worker.run_once()
    assert (bitmap_count(site, "amber"), changes(site)) == (6, 2)
    insert_mods(site, [{"title": "amber"}])
    worker.run_once()
    assert (bitmap_count(site, "amber"), changes(site)) == (7, 0)


@pytest.mark.usefixtures("small")
def test_after_an_error_the_worker_pauses_and_searches_go_on(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    worker = BitmapWorker(site.databases)
    insert_mods(site, [{"title": "amber"}] * 4)
    with site.databases.write_engine.begin() as connection:
        connection.execute(sql("ALTER TABLE fts_core_bitmap ADD CONSTRAINT full_disk CHECK (false)"))
    assert worker._run(0.0, clean_up=False) > 5 * search_bitmaps.BITMAP_SECONDS
    assert caplog.text.count("bitmaps for searches could not be brought up to date") == 1
    assert (bitmap_count(site, "amber"), total(site, "amber")) == (NOT_COUNTED, 4)
    with site.databases.write_engine.begin() as connection:
        connection.execute(sql("ALTER TABLE fts_core_bitmap DROP CONSTRAINT full_disk"))
    assert worker._run(0.0, clean_up=False) == search_bitmaps.BITMAP_SECONDS
    assert bitmap_count(site, "amber") == 4


def test_the_migration_can_be_taken_back_and_done_again(site: Site) -> None:
    insert_mods(site, [{"title": "amber"}] * 2)
    assert build_bitmaps(begin(site), min_mods=1)
    package = site.declarations.migrations[0]
    with site.databases.write_engine.begin() as connection:
        command.downgrade(migrate._config(package, connection), "core_0012")
        connection.execute(sql("UPDATE core_public_text SET text = 'basalt'"))
        command.upgrade(migrate._config(package, connection), "head")
    assert (bitmap_count(site, "amber"), total(site, "basalt")) == (NOT_COUNTED, 2)
    assert build_bitmaps(begin(site), min_mods=1)
    assert bitmap_count(site, "basalt") == 2
