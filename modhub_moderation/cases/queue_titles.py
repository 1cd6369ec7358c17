"""Titles that look like those of somebody else's mod (C-QUE-4)."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec
from confusable_homoglyphs.utils import load
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.content.folding import fold_search
from modhub.db import Databases, bulk
from modhub.db.changes import ChangeReader
from modhub.plugins.services import IMods, IPublicMods
from modhub.plugins.workers import raise_if_stopping
from modhub_moderation.cases.queue_models import TitleShape

TITLES_AT_A_TIME: Final = 100
"""Mods that one transaction reads."""
GROUPS_SHOWN: Final = 20
SAME_SHOWN: Final = 5
"""Mods that are shown of one group."""
_CLASS: Final = {"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "$": "s", "3": "e", "4": "a", "@": "a"}
"""ASCII that is taken for a letter."""


class _Titled(msgspec.Struct):
    id: int
    title: str


@cache
def _lookalikes() -> dict[str, str]:
    """The ASCII letter or digits that each other character is taken for. The tables that say more take 15 MB."""
    lookalikes = {}
    for character, entries in load("confusables.json").items():
        ascii_ones = sorted(text for entry in entries if (text := entry["c"].lower()).isascii() and text.isalnum())
        if ascii_ones and not character.isascii():
            lookalikes[character] = min(ascii_ones, key=len)
    return lookalikes


def _letter_of(character: str) -> str:
    """The ASCII letters that a character is taken for; itself if there are none."""
    if not character.isascii():
        character = _lookalikes().get(character, character)
    return _CLASS.get(character, character)


def shape_of(title: str) -> str:
    """How a title looks: without case, accents, spaces and signs, and one letter for those that look alike."""
    shape = "".join(_letter_of(character) for character in fold_search(title))
    shape = "".join(character for character in shape if character.isalnum())
    return shape.replace("rn", "m").replace("vv", "w")


def compare_titles(registry: Any) -> None:
    """The worker that reads the titles of mods that were published or changed since its last round."""
    databases, reader = find_service(registry, Databases), find_service(registry, ChangeReader)
    with databases.readonly_session() as session:
        last = session.scalar(select(func.max(TitleShape.serial))) or 0
    head, _ = reader.generation()
    # After a restore, serials begin again.
    last = 0 if last > head else last
    while page := find_service(registry, IPublicMods).get_page(last, head, TITLES_AT_A_TIME):
        raise_if_stopping(registry)
        titles = {serial: msgspec.json.decode(document, type=_Titled) for serial, document in page}
        with databases.write_session.begin() as session:
            _store(session, find_service(registry, IMods), titles)
        last = page[-1][0]


def _store(session: Session, mods: Any, titles: dict[int, _Titled]) -> None:
    ids = [titled.id for titled in titles.values()]
    bulk.execute_bulk(session, delete(TitleShape).where(TitleShape.mod_id.in_(ids)))
    # One that was deleted meanwhile is left out: nothing would remove its row again.
    known = sorted(mods.get_mods(session, ids).items())
    owners = {mod_id: mod.owner for mod_id, mod in known if mods.lock(session, mod_id)}
    for serial, titled in titles.items():
        if titled.id in owners:
            shape = shape_of(titled.title)
            values = {"owner_id": owners[titled.id], "title": titled.title, "shape": shape, "serial": serial}
            session.add(TitleShape(mod_id=titled.id, **values))
    session.flush()


def find_alike(session: Session) -> Iterator[list[TitleShape]]:
    """Groups of mods of several owners whose titles look the same, the last changed first."""
    shared = select(TitleShape.shape).where(TitleShape.shape != "").group_by(TitleShape.shape)
    shared = shared.having(func.min(TitleShape.owner_id) < func.max(TitleShape.owner_id))
    for shape in session.scalars(shared.order_by(func.max(TitleShape.serial).desc()).limit(GROUPS_SHOWN)).all():
        alike = select(TitleShape).where(TitleShape.shape == shape).order_by(TitleShape.serial.desc())
        yield list(session.scalars(alike.limit(SAME_SHOWN)))
