"""Statements of the pages, besides those of the API; each starts from a public table."""

from typing import Any, Final

from sqlalchemy import ColumnElement, Text, and_, bindparam, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from modhub.blobs.models import StoredBlob
from modhub.catalogue.models import Asset, AssetKind, Mod, Note, PublicMod, PublicRequirement
from modhub.catalogue.pictures.models import PictureSet
from modhub.catalogue.queries import NOTE_COLUMNS, AnySelect, ListVariant, chain_statement, page_statement
from modhub.limits import GUIDS

_NEWEST = (PublicMod.updated_at.desc(), PublicMod.id.desc())


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


def _of_mod(column: Any) -> ColumnElement[Any]:
    return select(column).where(Mod.id == PublicMod.id).correlate(PublicMod).scalar_subquery()


def _image_facts() -> ColumnElement[Any]:
    """What the document does not say about the images: rows of ``ImageFacts``."""
    columns = (Asset.id, Asset.content_type, Asset.caption, PictureSet.digest, PictureSet.sizes)
    facts = select(_JsonRows(*columns)).select_from(Asset).outerjoin(PictureSet, PictureSet.asset_id == Asset.id)
    facts = facts.where(Asset.mod_id == PublicMod.id, Asset.kind == AssetKind.IMAGE.value)
    return facts.correlate(PublicMod).scalar_subquery()


_CARD: Final = (
    PublicMod.document,
    PublicMod.owner,
    _of_mod(Mod.ups),
    _of_mod(Mod.downs),
    PublicMod.updated_at,
    _image_facts(),
)


def _of_newest(column: Any) -> ColumnElement[Any]:
    """A column of the changelog entry of the current version; NULL if that entry was removed."""
    entry = select(column).join(Mod, and_(Mod.id == Note.mod_id, Mod.version == Note.version))
    return entry.where(Note.mod_id == PublicMod.id).correlate(PublicMod).scalar_subquery()


_CHANGE: Final = (_of_newest(Note.text), _of_newest(Note.created_at), _of_newest(Note.edited_at))


def updates_statement(variant: ListVariant) -> AnySelect:
    """As :func:`cards_statement`, plus (text, created, edited) of the current version's changelog entry."""
    return page_statement(variant, (*_CARD, *_CHANGE))


def cards_statement(variant: ListVariant) -> AnySelect:
    """(document, owner, ups, downs, time of change, facts of the images) of one page of a list."""
    return page_statement(variant, _CARD)


def facts_statement() -> AnySelect:
    """The columns for the page of the published mod ``id``.

    (document, owner, ups, downs, facts of the images, number of changelog entries, SHA-256 of the code file)
    """
    code = and_(Asset.mod_id == PublicMod.id, Asset.kind == AssetKind.CODE.value)
    notes = select(func.count()).where(Note.mod_id == PublicMod.id).correlate(PublicMod).scalar_subquery()
    columns = (PublicMod.document, PublicMod.owner, Mod.ups, Mod.downs, _image_facts(), notes, StoredBlob.sha256)
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


def chains_statement(dialect: str) -> AnySelect:
    """As :func:`modhub.catalogue.queries.chain_statement`, starting from the GUIDs ``guid0``, ``guid1``, …"""
    return chain_statement(dialect, _has_guid())


def _users() -> Any:
    return select(PublicRequirement.mod_id).where(PublicRequirement.guid == bindparam("guid")).limit(bindparam("most"))


def _documents(ids: AnySelect, *order: Any) -> AnySelect:
    """The documents of the first ``size`` of ``ids`` in this order; no other documents are read."""
    page = ids.order_by(*order).limit(bindparam("size")).subquery()
    return select(PublicMod.document).join(page, page.c.id == PublicMod.id).order_by(*order)


def users_statement() -> AnySelect:
    """The documents of the ``size`` top-rated of at most ``most`` mods that directly require ``guid``."""
    return _documents(select(PublicMod.id).where(PublicMod.id.in_(_users())), PublicMod.score.desc(), *_NEWEST)


def users_total_statement() -> AnySelect:
    """The number of mods that directly require ``guid``, counted up to ``most``."""
    return select(func.count()).select_from(_users().subquery())


def others_statement() -> AnySelect:
    """The documents of the ``size`` most recently changed mods of ``owner``, except ``id``."""
    ids = select(PublicMod.id).where(PublicMod.owner == bindparam("owner"), PublicMod.id != bindparam("id"))
    return _documents(ids, *_NEWEST)


def sitemap_statement() -> AnySelect:
    """(id, updated_at) of the published mods with ``above`` < id <= ``upto``."""
    rows = select(PublicMod.id, PublicMod.updated_at)
    return rows.where(PublicMod.id > bindparam("above"), PublicMod.id <= bindparam("upto")).order_by(PublicMod.id)


def highest_statement() -> AnySelect:
    """The highest id of a published mod, NULL if there is none."""
    return select(func.max(PublicMod.id))
