"""What pages ask beyond the JSON answers; each statement begins at a public table, as those of the answers do."""

from typing import Any, Final

from sqlalchemy import ColumnElement, Text, and_, bindparam, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from modhub.blobs.models import StoredBlob
from modhub.catalogue.models import Asset, AssetKind, Mod, Note, PublicMod, PublicRequirement
from modhub.catalogue.queries import NOTE_COLUMNS, AnySelect, ListVariant, chain_statement, page_statement
from modhub.limits import GUIDS

_NEWEST = (PublicMod.updated_at.desc(), PublicMod.id.desc())


class _Joined(FunctionElement[str]):
    """A column's values joined by commas. SQLAlchemy's ``aggregate_strings`` cannot be compiled without values."""

    type = Text()
    inherit_cache = True


@compiles(_Joined, "sqlite")
def _join_in_sqlite(element: _Joined, compiler: Any, **keywords: Any) -> str:
    return f"group_concat({compiler.process(element.clauses, **keywords)})"


@compiles(_Joined, "postgresql")
def _join_in_postgresql(element: _Joined, compiler: Any, **keywords: Any) -> str:
    return f"string_agg(CAST({compiler.process(element.clauses, **keywords)} AS TEXT), ',')"


def _of_mod(column: Any) -> ColumnElement[Any]:
    return select(column).where(Mod.id == PublicMod.id).correlate(PublicMod).scalar_subquery()


def _no_pictures() -> ColumnElement[Any]:
    """The ids, joined by commas, of what was uploaded as an image under another type; NULL, as a rule."""
    other = func.lower(Asset.content_type).not_like("image/%")
    found = select(_Joined(Asset.id)).where(Asset.mod_id == PublicMod.id, Asset.kind == AssetKind.IMAGE.value, other)
    return found.correlate(PublicMod).scalar_subquery()


_CARD: Final = (
    PublicMod.document,
    PublicMod.owner,
    _of_mod(Mod.ups),
    _of_mod(Mod.downs),
    PublicMod.updated_at,
    _no_pictures(),
)


def _of_newest(column: Any) -> ColumnElement[Any]:
    """A column of the changelog entry of the version that is given out now; NULL when its author removed it."""
    found = select(column).join(Mod, and_(Mod.id == Note.mod_id, Mod.version == Note.version))
    return found.where(Note.mod_id == PublicMod.id).correlate(PublicMod).scalar_subquery()


_CHANGE: Final = (_of_newest(Note.text), _of_newest(Note.created_at), _of_newest(Note.edited_at))


def updates_statement(shape: ListVariant) -> AnySelect:
    """As :func:`cards_statement`, with (text, time, time of the last edit) of the newest version's changelog entry."""
    return page_statement(shape, (*_CARD, *_CHANGE))


def cards_statement(shape: ListVariant) -> AnySelect:
    """(document, owner, ups, downs, time of change, images that are no pictures) of one page of a list."""
    return page_statement(shape, _CARD)


def facts_statement() -> AnySelect:
    """What a page needs to know of the published ``id``.

    (document, owner, ups, downs, images that are no pictures, number of changelog entries, SHA-256 of the code file)
    """
    code = and_(Asset.mod_id == PublicMod.id, Asset.kind == AssetKind.CODE.value)
    notes = select(func.count()).where(Note.mod_id == PublicMod.id).correlate(PublicMod).scalar_subquery()
    columns = (PublicMod.document, PublicMod.owner, Mod.ups, Mod.downs, _no_pictures(), notes, StoredBlob.sha256)
    joined = select(*columns).select_from(PublicMod).join(Mod, Mod.id == PublicMod.id)
    joined = joined.outerjoin(Asset, code).outerjoin(StoredBlob, StoredBlob.id == Asset.blob_id)
    return joined.where(PublicMod.id == bindparam("id"))


def notes_page_statement() -> AnySelect:
    """As :func:`modhub.catalogue.queries.notes_statement`, ``size`` entries behind ``offset``."""
    wanted = select(Note.id).join(PublicMod, PublicMod.id == Note.mod_id).where(Note.mod_id == bindparam("id"))
    shown = wanted.order_by(Note.id.desc()).limit(bindparam("size")).offset(bindparam("offset")).subquery()
    return select(*NOTE_COLUMNS).join(shown, shown.c.id == Note.id).order_by(Note.id.desc())


def _named() -> ColumnElement[bool]:
    guids: list[Any] = [bindparam(f"guid{at}", "") for at in range(GUIDS)]
    return PublicMod.guid.in_(guids)


def named_statement() -> AnySelect:
    """(guid, document) of those published mods whose GUIDs are given as ``guid0`` and so on; unused ones are empty."""
    return select(PublicMod.guid, PublicMod.document).where(_named())


def chains_statement() -> AnySelect:
    """As :func:`modhub.catalogue.queries.chain_statement`, of those published mods whose GUIDs are given."""
    return chain_statement(_named())


def _users() -> Any:
    return select(PublicRequirement.mod_id).where(PublicRequirement.guid == bindparam("guid")).limit(bindparam("most"))


def _documents(wanted: AnySelect, *order: Any) -> AnySelect:
    """The documents of the first ``size`` of ``wanted`` in this order; those of the others are not touched."""
    chosen = wanted.order_by(*order).limit(bindparam("size")).subquery()
    return select(PublicMod.document).join(chosen, chosen.c.id == PublicMod.id).order_by(*order)


def users_statement() -> AnySelect:
    """The documents of the ``size`` best voted of ``most`` mods that require ``guid`` themselves."""
    return _documents(select(PublicMod.id).where(PublicMod.id.in_(_users())), PublicMod.score.desc(), *_NEWEST)


def users_total_statement() -> AnySelect:
    """How many mods require ``guid`` themselves; counting ends at ``most``."""
    return select(func.count()).select_from(_users().subquery())


def others_statement() -> AnySelect:
    """The documents of the ``size`` most recently changed mods of ``owner`` but for ``id``."""
    wanted = select(PublicMod.id).where(PublicMod.owner == bindparam("owner"), PublicMod.id != bindparam("id"))
    return _documents(wanted, *_NEWEST)


def sitemap_statement() -> AnySelect:
    """(id, updated_at) of the published mods whose ids lie above ``above`` and not above ``upto``."""
    found = select(PublicMod.id, PublicMod.updated_at)
    return found.where(PublicMod.id > bindparam("above"), PublicMod.id <= bindparam("upto")).order_by(PublicMod.id)


def highest_statement() -> AnySelect:
    """The highest id of a published mod, NULL when there is none."""
    return select(func.max(PublicMod.id))
