"""Statements of the pages, besides those of the API; each starts from a public table."""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Text,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    select,
    true,
    union,
    union_all,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import aliased
from sqlalchemy.sql.functions import FunctionElement

from modhub.blobs.models import StoredBlob
from modhub.catalogue.models import (
    IS_CODE,
    IS_IMAGE,
    Asset,
    Mod,
    Note,
    PublicGame,
    PublicMod,
    PublicRequirement,
    Successor,
)
from modhub.catalogue.pictures.models import PictureSet
from modhub.catalogue.reading.lists import (
    are_on_front,
    newest_page,
)
from modhub.catalogue.reading.statements import (
    IS_ASKED_FOR,
    NOTE_COLUMNS,
    AnySelect,
    json_ids,
    json_items,
    json_rows,
)
from modhub.content.markup import SUMMARIZED
from modhub.db.changes import MOD, PublicChange, What
from modhub.db.raw_queries import PreparedQuery
from modhub.plugins.declarations import ModColumn
from modhub.plugins.services import ChangeWatch, ProfileColumns

VERSIONS_IN_FEED: Final = 5
"""Versions of one mod in the feed of a list: as many as an author releases between two visits of a feed reader."""
_CONSIDERED: Final = 1000
"""The latest changes of the service among which deletions are looked for: the time does not grow with the catalogue."""
_TOMBSTONES: Final = 100
"""Deletions in the feed of the list."""
_NEWEST = (PublicMod.updated_at.desc(), PublicMod.id.desc())
_NO_KEY: Any = literal_column("0")
_PLACE: Any = literal_column("listed.place")
"""The number of the pick in `placed_statement`."""
NOTES_PER_PAGE: Final = 10
"""Changelog entries per page."""
MAX_DEPENDENTS_COUNTED: Final = 200
"""Maximum number of dependent mods that are counted and sorted, to bound the time for popular mods."""
DEPENDENTS_SHOWN: Final = 8
"""Dependent mods listed on a mod's page."""
OTHER_MODS_SHOWN: Final = 5
"""Other mods of the author listed on a mod's page."""


class _JsonRows(FunctionElement[str]):
    """All rows as one JSON text, each an array of the values of these columns; NULL on PostgreSQL without rows."""

    type = Text()
    inherit_cache = True


@compiles(_JsonRows, "sqlite")
def _json_in_sqlite(element: _JsonRows, compiler: Any, **keywords: Any) -> str:
    return f"json_group_array(json_array({compiler.process(element.clauses, **keywords)}))"


@compiles(_JsonRows, "postgresql")
def _json_in_postgresql(element: _JsonRows, compiler: Any, **keywords: Any) -> str:
    return f"CAST(json_agg(json_build_array({compiler.process(element.clauses, **keywords)})) AS TEXT)"


def of_mod(column: Any) -> ColumnElement[Any]:
    """A column of the mod's own row, beside its public one."""
    return select(column).where(Mod.id == PublicMod.id).correlate(PublicMod).scalar_subquery()


def image_facts() -> ColumnElement[Any]:
    """What the document does not say about the images: rows of ``ImageFacts``."""
    columns = (Asset.id, Asset.content_type, Asset.caption, PictureSet.digest, PictureSet.sizes, PictureSet.problem)
    facts = select(_JsonRows(*columns)).select_from(Asset).outerjoin(PictureSet, PictureSet.asset_id == Asset.id)
    facts = facts.where(Asset.mod_id == PublicMod.id, IS_IMAGE)
    return facts.correlate(PublicMod).scalar_subquery()


def _told_changes() -> ColumnElement[Any]:
    """The beginning of what the entry of the current version says; NULL without an entry."""
    current = select(func.substr(Note.text, 1, SUMMARIZED + 1)).join(Mod, Mod.id == Note.mod_id)
    current = current.where(Note.mod_id == PublicMod.id, Note.version == Mod.version)
    return current.correlate(PublicMod).scalar_subquery()


def _successor_id() -> ColumnElement[Any]:
    """The id of the published mod that takes this one's place; NULL without one."""
    successor = aliased(PublicMod)
    found = select(successor.id).join(Successor, Successor.guid == successor.guid)
    return found.where(Successor.mod_id == PublicMod.id).correlate(PublicMod).scalar_subquery()


CARD_COLUMNS: Final = (
    *(PublicMod.document, PublicMod.owner, _told_changes()),
    *(of_mod(Mod.ups), of_mod(Mod.downs), image_facts(), _successor_id()),
)
"""The columns of a card, which ``cards.card_of`` gives to `ModPresenter`: a new field passes through all three."""


def figure_of(figure: ModColumn) -> ColumnElement[Any]:
    """The number of a mod that a feature shows; NULL without one."""
    return select(figure.value).where(figure.mod_id == PublicMod.id).correlate(PublicMod).scalar_subquery()


def _notes(columns: tuple[Any, ...], size: Any, offset: Any = 0) -> ColumnElement[Any]:
    """``size`` changelog entries from ``offset`` on, newest first, as JSON: rows of these columns."""
    newest = select(*columns).where(Note.mod_id == PublicMod.id).correlate(PublicMod)
    listed = newest.order_by(Note.id.desc()).limit(size).offset(offset).subquery()
    return select(_JsonRows(*listed.c)).scalar_subquery()


_FACTS: Final = (Note.id, Note.version, Note.text, Note.created_at, Note.edited_at)
"""The columns of ``NoteFacts``."""
UPDATE_COLUMNS: Final = (*CARD_COLUMNS, _notes(_FACTS, VERSIONS_IN_FEED))


def mod_page_statement(columns: Iterable[Any]) -> AnySelect:
    """All that the page of the published mod ``id`` shows of it and, as cards, of mods that have to do with it.

    (place, GUID, the columns of `_page_columns`, ``columns``): place 0 is the mod itself, 1 those that require it, 2
    others of its author, 3 those that it conflicts with. The columns of the page are NULL but for the mod itself.
    """
    itself = IS_ASKED_FOR
    own = select(PublicMod.owner).where(itself).scalar_subquery()
    guid = select(PublicMod.guid).where(itself).scalar_subquery()
    listed = json_rows(Mod.conflicts)
    conflicts = select(func.lower(listed.c.value)).select_from(Mod).join(listed, true())
    picks = (
        picked().where(itself),
        users_ids(guid),
        picked().where(PublicMod.owner == own, ~itself).order_by(*_NEWEST).limit(OTHER_MODS_SHOWN),
        picked().where(PublicMod.guid.in_(conflicts.where(Mod.id == bindparam("id")))),
    )
    facts = [case((_PLACE == 0, column)) for column in _page_columns(guid)]
    return placed_statement(picks, PublicMod.guid, *facts, *columns)


def _page_columns(guid: Any) -> tuple[Any, ...]:
    """(number of mods that require it, number of entries, entries from ``offset`` on, code's SHA-256, successor)."""
    total = select(func.count()).where(Note.mod_id == PublicMod.id).correlate(PublicMod).scalar_subquery()
    code = select(StoredBlob.sha256).join(Asset, Asset.blob_id == StoredBlob.id)
    code = code.where(Asset.mod_id == PublicMod.id, IS_CODE).correlate(PublicMod)
    successor = aliased(PublicMod)
    document = select(successor.document).join(Successor, Successor.guid == successor.guid)
    document = document.where(Successor.mod_id == PublicMod.id).correlate(PublicMod)
    return (
        users_total(guid),
        total,
        _notes(NOTE_COLUMNS, NOTES_PER_PAGE, bindparam("offset")),
        code.scalar_subquery(),
        document.scalar_subquery(),
    )


CHANGES: Final = PreparedQuery(select(*CARD_COLUMNS, _notes(NOTE_COLUMNS, bindparam("size"))).where(IS_ASKED_FOR))
"""(columns of a card, ``size`` changelog entries) of the published mod ``id``."""


def _users(guid: Any, most: int) -> AnySelect:
    return select(PublicRequirement.mod_id).where(PublicRequirement.guid == guid).limit(most)


def users_ids(guid: Any) -> AnySelect:
    """The top-rated of the mods that directly require ``guid``."""
    users = picked(PublicMod.score).where(PublicMod.id.in_(_users(guid, MAX_DEPENDENTS_COUNTED)))
    return users.order_by(PublicMod.score.desc(), *_NEWEST).limit(DEPENDENTS_SHOWN)


def users_total(guid: Any) -> ColumnElement[int]:
    """The number of mods that directly require ``guid``, one more than `MAX_DEPENDENTS_COUNTED` at most."""
    return select(func.count()).select_from(_users(guid, MAX_DEPENDENTS_COUNTED + 1).subquery()).scalar_subquery()


def picked(key: Any = _NO_KEY) -> AnySelect:
    """(id, key) of published mods, for `placed_statement`."""
    return select(PublicMod.id.label("id"), key.label("key"))


def placed_statement(picks: Iterable[AnySelect], *columns: Any) -> AnySelect:
    """(number of a pick, ``columns``) of the mods that the ``picks`` select, so that several rows are read at once.

    By pick; within one the largest key first, then the last changed.
    """
    parts = [select(literal_column(str(place)).label("place"), *pick.subquery().c) for place, pick in enumerate(picks)]
    listed = union_all(*parts).subquery("listed")
    joined = select(listed.c.place, *columns).select_from(listed).join(PublicMod, PublicMod.id == listed.c.id)
    return joined.order_by(listed.c.place, listed.c.key.desc(), *_NEWEST)


_GUID: Final[Any] = bindparam("guid")
USERS: Final = PreparedQuery(placed_statement([users_ids(_GUID)], users_total(_GUID), *CARD_COLUMNS))
"""(place, `users_total`, columns of a card) of `users_ids` of the mod ``guid``."""


def newest_statement(left_out: Iterable[ModColumn], size: int) -> AnySelect:
    """The columns of the cards of the ``size`` mods of the front that were published last."""
    # A draft has no such moment, and PostgreSQL's index begins with those.
    walked = select(PublicMod.id, Mod.published_at).join(Mod, Mod.id == PublicMod.id)
    walked = walked.where(Mod.published_at.is_not(None), *are_on_front(left_out, PublicMod.id))
    newest = walked.order_by(Mod.published_at.desc(), Mod.id.desc()).limit(size).subquery()
    joined = select(*CARD_COLUMNS).join(newest, newest.c.id == PublicMod.id)
    return joined.order_by(newest.c.published_at.desc(), PublicMod.id.desc())


SITEMAP: Final = PreparedQuery(
    select(PublicMod.id, PublicMod.updated_at)
    .where(PublicMod.id > bindparam("above"), PublicMod.id <= bindparam("upto"))
    .order_by(PublicMod.id)
)
"""(id, updated_at) of the published mods with ``above`` < id <= ``upto``."""
HIGHEST: Final = PreparedQuery(select(func.max(PublicMod.id)))
"""The highest id of a published mod, NULL if there is none."""
AUTHORS: Final = PreparedQuery(
    select(PublicMod.owner, func.max(PublicMod.updated_at))
    .where(PublicMod.owner > bindparam("above"), PublicMod.owner <= bindparam("upto"))
    .group_by(PublicMod.owner)
    .order_by(PublicMod.owner)
)
"""(author, time of the latest change) of the authors of published mods with ``above`` < id <= ``upto``."""
LAST_AUTHOR: Final = PreparedQuery(select(func.max(PublicMod.owner)))
"""The highest id of an author of a published mod, NULL if there is none."""
_LATEST: Final = select(PublicChange).order_by(PublicChange.serial.desc()).limit(_CONSIDERED).subquery()
DELETIONS: Final = PreparedQuery(
    select(_LATEST)
    .where(_LATEST.c.kind == MOD, _LATEST.c.what == What.DELETED.value)
    .order_by(_LATEST.c.serial.desc())
    .limit(_TOMBSTONES)
)
"""The latest changes of mods that were deleted or hidden, newest first: rows of `ChangeEntry`."""
_SELECTED: Final = union(
    select(PublicMod.id).where(PublicMod.id.in_(json_ids("mods"))),
    select(PublicMod.id).where(PublicMod.owner.in_(json_ids("authors"))),
    select(PublicGame.mod_id).where(PublicGame.folded.in_(json_items("games"))),
).subquery("selected")
"""The ids of the published mods that ``mods``, ``authors`` or ``games`` name; each is a JSON array."""
SELECTED_TOTAL: Final = PreparedQuery(select(func.count()).select_from(_SELECTED))
"""The number of the selected mods."""


def _selected_page(columns: tuple[Any, ...]) -> PreparedQuery:
    hits = select(PublicMod.id.label("id"), PublicMod.updated_at.label("moment"))
    return PreparedQuery(newest_page(hits.where(PublicMod.id.in_(select(_SELECTED.c[0]))), columns))


SELECTED_CARDS: Final = _selected_page(CARD_COLUMNS)
"""The columns of the cards of one page of the selected mods."""
SELECTED_UPDATES: Final = _selected_page(UPDATE_COLUMNS)
"""The same with the newest changelog entries."""


def changed_total_statement(watch: ChangeWatch, but_of: Any, most: int) -> AnySelect:
    """The number, up to ``most``, of the published mods that have changed since the moments of the watch."""
    changed = union(*(part.with_only_columns(PublicMod.id) for part in _changed(watch, but_of))).subquery()
    return select(func.count()).select_from(select(changed).limit(most).subquery())


def changed_statement(watch: ChangeWatch, but_of: Any) -> AnySelect:
    """(id, moment) of these mods; of one that is watched in several ways the first moment."""
    changed = union_all(*_changed(watch, but_of)).subquery()
    return select(changed.c.id, func.min(changed.c.since)).group_by(changed.c.id)


def changed_among_statement(watch: ChangeWatch, but_of: Any) -> AnySelect:
    """(id, 1 if it was created since, else 0) of those of the mods ``ids`` that `changed_total_statement` counts."""
    changed = union_all(*(part.where(PublicMod.id.in_(json_ids("ids"))) for part in _changed(watch, but_of))).subquery()
    is_new = func.max(case((Mod.created_at > changed.c.since, 1), else_=0))
    return select(changed.c.id, is_new).join(Mod, Mod.id == changed.c.id).group_by(changed.c.id)


def _changed(watch: ChangeWatch, but_of: Any) -> list[AnySelect]:
    """(id, since) of the mods that have changed since, in each of the three ways.

    Each part begins with what is watched and reads only what is newer, by the indexes of the public tables.
    """
    mods, authors, games = (watched.subquery() for watched in watch)
    is_of_game = (PublicGame.folded == games.c[0]) & (PublicGame.updated_at > games.c[1])
    in_mods, in_authors, in_games = (select(PublicMod.id, way.c[1].label("since")) for way in (mods, authors, games))
    parts = (
        in_mods.join(mods, PublicMod.id == mods.c[0]).where(PublicMod.updated_at > mods.c[1]),
        in_authors.join(authors, PublicMod.owner == authors.c[0]).where(PublicMod.updated_at > authors.c[1]),
        in_games.select_from(PublicMod).join(PublicGame, PublicGame.mod_id == PublicMod.id).join(games, is_of_game),
    )
    return [part.where(PublicMod.owner != but_of) for part in parts]


def _is_found(accounts: ProfileColumns) -> ColumnElement[bool]:
    """Whether an account has published mods, and a name with ``longest`` and all other ``patterns``, a JSON array.

    Most names lack the longest word, so hardly any is compared with the others.
    """
    patterns = json_items("patterns").subquery()
    lacks_one = exists().where(~accounts.folded.like(patterns.c.value, escape="\\")).correlate(accounts.id.table)
    has_longest = accounts.folded.like(bindparam("longest"), escape="\\")
    # From the owners to their accounts: most accounts have no mods.
    return and_(accounts.id.in_(select(PublicMod.owner).distinct()), has_longest, ~lacks_one)


def found_authors_statement(accounts: ProfileColumns) -> AnySelect:
    """(account id, name, number of published mods) of ``size`` authors from ``offset`` on, by name."""
    mods: Any = select(func.count()).where(PublicMod.owner == accounts.id).correlate(accounts.id.table)
    matching = select(accounts.id, accounts.name, mods.scalar_subquery()).where(_is_found(accounts))
    page = matching.order_by(accounts.folded, accounts.id)
    return page.limit(bindparam("size")).offset(bindparam("offset"))


def found_authors_total_statement(accounts: ProfileColumns) -> AnySelect:
    """The number of these authors."""
    return select(func.count()).select_from(accounts.id.table).where(_is_found(accounts))


def author_totals_statement(figures: Iterable[ModColumn]) -> AnySelect:
    """The number of the published mods of ``owner``, the sums of their votes for and against and of their figures."""
    summed = (of_mod(Mod.ups), of_mod(Mod.downs), *map(figure_of, figures))
    sums = (func.coalesce(func.sum(number), 0) for number in summed)
    return select(func.count(), *sums).select_from(PublicMod).where(PublicMod.owner == bindparam("owner"))
