"""Statements of the pages, besides those of the API; each starts from a public table."""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Text, and_, bindparam, func, literal_column, select, union_all
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from modhub.base.page_declarations import CardFigure, FrontExclusion
from modhub.blobs.models import StoredBlob
from modhub.catalogue.list_queries import ListVariant, are_on_front, page_statement
from modhub.catalogue.models import Asset, AssetKind, Mod, Note, PublicMod, PublicRequirement
from modhub.catalogue.pictures.models import PictureSet
from modhub.catalogue.queries import NOTE_COLUMNS, AnySelect
from modhub.content.limits import GUIDS
from modhub.content.markup import SUMMARIZED
from modhub.db.changes import MOD, PublicChange, What

VERSIONS_IN_FEED: Final = 5
"""Versions of one mod in the feed of a list: as many as an author releases between two visits of a feed reader."""
_CONSIDERED: Final = 1000
"""The latest changes of the service among which deletions are looked for: the time does not grow with the catalogue."""
_LATEST: Final = 50
"""The mods changed last among which those with a new version are looked for."""
_TOMBSTONES: Final = 100
"""Deletions in the feed of the list."""
_NEWEST = (PublicMod.updated_at.desc(), PublicMod.id.desc())
_NO_KEY: Final = literal_column("0", BigInteger)


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
    facts = facts.where(Asset.mod_id == PublicMod.id, Asset.kind == AssetKind.IMAGE.value)
    return facts.correlate(PublicMod).scalar_subquery()


def _told_changes() -> ColumnElement[Any]:
    """The beginning of what the entry of the current version says; NULL without an entry."""
    current = select(func.substr(Note.text, 1, SUMMARIZED + 1)).join(Mod, Mod.id == Note.mod_id)
    current = current.where(Note.mod_id == PublicMod.id, Note.version == Mod.version)
    return current.correlate(PublicMod).scalar_subquery()


CARD_COLUMNS: Final = (
    *(PublicMod.document, PublicMod.owner, PublicMod.updated_at, _told_changes()),
    *(of_mod(Mod.ups), of_mod(Mod.downs), image_facts()),
)
"""What a card shows, besides the figures of features."""


def card_columns(figures: Iterable[CardFigure]) -> tuple[Any, ...]:
    """`CARD_COLUMNS`, then the figures that features show on cards, NULL without one."""
    return (*CARD_COLUMNS, *map(figure_of, figures))


def figure_of(figure: CardFigure) -> ColumnElement[Any]:
    """The number of a mod that a feature shows; NULL without one."""
    return select(figure.value).where(figure.mod_id == PublicMod.id).correlate(PublicMod).scalar_subquery()


def _newest_notes() -> ColumnElement[Any]:
    """The newest changelog entries: rows of ``NoteFacts``."""
    columns = (Note.id, Note.version, Note.text, Note.created_at, Note.edited_at)
    newest = select(*columns).where(Note.mod_id == PublicMod.id).correlate(PublicMod)
    listed = newest.order_by(Note.id.desc()).limit(VERSIONS_IN_FEED).subquery()
    return select(_JsonRows(*listed.c)).scalar_subquery()


UPDATE_COLUMNS: Final = (*CARD_COLUMNS, _newest_notes())


def updates_statement(variant: ListVariant) -> AnySelect:
    """The columns of the cards of one page of a list, plus the newest changelog entries."""
    return page_statement(variant, UPDATE_COLUMNS)


def facts_statement() -> AnySelect:
    """The columns for the page of the published mod ``id``.

    (document, owner, ups, downs, facts of the images, number of changelog entries, SHA-256 of the code file)
    """
    code = and_(Asset.mod_id == PublicMod.id, Asset.kind == AssetKind.CODE.value)
    notes = select(func.count()).where(Note.mod_id == PublicMod.id).correlate(PublicMod).scalar_subquery()
    columns = (PublicMod.document, PublicMod.owner, Mod.ups, Mod.downs, image_facts(), notes, StoredBlob.sha256)
    joined = select(*columns).select_from(PublicMod).join(Mod, Mod.id == PublicMod.id)
    joined = joined.outerjoin(Asset, code).outerjoin(StoredBlob, StoredBlob.id == Asset.blob_id)
    return joined.where(PublicMod.id == bindparam("id"))


def notes_page_statement() -> AnySelect:
    """As :func:`modhub.catalogue.queries.notes_statement`, but ``size`` entries from ``offset`` on."""
    ids = select(Note.id).join(PublicMod, PublicMod.id == Note.mod_id).where(Note.mod_id == bindparam("id"))
    page = ids.order_by(Note.id.desc()).limit(bindparam("size")).offset(bindparam("offset")).subquery()
    return select(*NOTE_COLUMNS).join(page, page.c.id == Note.id).order_by(Note.id.desc())


def _has_guid() -> ColumnElement[bool]:
    guids: list[Any] = [bindparam(f"guid{index}", "") for index in range(GUIDS)]
    return PublicMod.guid.in_(guids)


def named_statement() -> AnySelect:
    """(guid, document) of the published mods with the GUIDs ``guid0``, ``guid1``, …; unused parameters are empty."""
    return select(PublicMod.guid, PublicMod.document).where(_has_guid())


def _users() -> Any:
    return select(PublicRequirement.mod_id).where(PublicRequirement.guid == bindparam("guid")).limit(bindparam("most"))


def _first(columns: tuple[Any, ...], ids: AnySelect, *order: Any) -> AnySelect:
    """The ``columns`` of the first ``size`` of ``ids`` in this order; no other documents are read."""
    page = ids.order_by(*order).limit(bindparam("size")).subquery()
    return select(*columns).join(page, page.c.id == PublicMod.id).order_by(*order)


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


def listed_ids(size: int) -> AnySelect:
    """The ``size`` mods that were changed last."""
    return picked().order_by(*_NEWEST).limit(size)


def newest_ids(left_out: Iterable[FrontExclusion], size: int) -> AnySelect:
    """The ``size`` mods of the front that were created last."""
    newest = picked(PublicMod.id).where(*are_on_front(left_out, PublicMod.id))
    return newest.order_by(PublicMod.id.desc()).limit(size)


def updated_ids(left_out: Iterable[FrontExclusion], size: int) -> AnySelect:
    """``size`` of the front's mods changed last that have more than one version, without those of `newest_ids`."""
    left_out = tuple(left_out)
    latest, newest = listed_ids(_LATEST).subquery(), newest_ids(left_out, size).subquery()
    versions = select(func.count()).where(Note.mod_id == PublicMod.id).correlate(PublicMod).scalar_subquery()
    shown = picked().where(*are_on_front(left_out, PublicMod.id), versions > 1)
    ids = shown.where(PublicMod.id.in_(select(latest.c.id)), PublicMod.id.not_in(select(newest.c.id)))
    return ids.order_by(*_NEWEST).limit(size)


def users_statement(columns: tuple[Any, ...]) -> AnySelect:
    """The ``columns`` of the ``size`` top-rated of at most ``most`` mods that directly require ``guid``."""
    return _first(columns, select(PublicMod.id).where(PublicMod.id.in_(_users())), PublicMod.score.desc(), *_NEWEST)


def users_total_statement() -> AnySelect:
    """The number of mods that directly require ``guid``, counted up to ``most``."""
    return select(func.count()).select_from(_users().subquery())


def others_statement(columns: tuple[Any, ...]) -> AnySelect:
    """The ``columns`` of the ``size`` most recently changed mods of ``owner``, except ``id``."""
    ids = select(PublicMod.id).where(PublicMod.owner == bindparam("owner"), PublicMod.id != bindparam("id"))
    return _first(columns, ids, *_NEWEST)


def sitemap_statement() -> AnySelect:
    """(id, updated_at) of the published mods with ``above`` < id <= ``upto``."""
    return select(PublicMod.id, PublicMod.updated_at).where(*in_range(PublicMod.id)).order_by(PublicMod.id)


def authors_statement() -> AnySelect:
    """(author, time of the latest change) of the authors of published mods with ``above`` < id <= ``upto``."""
    rows = select(PublicMod.owner, func.max(PublicMod.updated_at)).group_by(PublicMod.owner)
    return rows.where(*in_range(PublicMod.owner)).order_by(PublicMod.owner)


def last_author_statement() -> AnySelect:
    """The highest id of an author of a published mod, NULL if there is none."""
    return select(func.max(PublicMod.owner))


def deletions_statement() -> AnySelect:
    """The latest changes of mods that were deleted or hidden, newest first: rows of `ChangeEntry`."""
    latest = select(*PublicChange.__table__.columns).order_by(PublicChange.serial.desc()).limit(_CONSIDERED).subquery()
    deleted = select(latest).where(latest.c.kind == MOD, latest.c.what == What.DELETED.value)
    return deleted.order_by(latest.c.serial.desc()).limit(_TOMBSTONES)


def in_range(column: Any) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """``above`` < column <= ``upto``: one part of the sitemap."""
    return column > bindparam("above"), column <= bindparam("upto")


def highest_statement() -> AnySelect:
    """The highest id of a published mod, NULL if there is none."""
    return select(func.max(PublicMod.id))
