"""The statements of anonymous reads. Each begins at a public table, so that nothing unpublished can be found by it."""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Select, bindparam, column, func, literal_column, select, table
from sqlalchemy.sql.expression import ColumnElement

from modhub.blobs.models import StoredBlob
from modhub.catalogue.models import (
    Asset,
    AssetKind,
    Game,
    GameIcon,
    Mod,
    Note,
    PublicCounter,
    PublicGame,
    PublicMod,
    PublicRequirement,
    PublicText,
)
from modhub.catalogue.public_copies import PUBLISHED

AnySelect = Select[*tuple[Any, ...]]
TRIGRAM: Final = 3
"""A full-text index of trigrams answers words of at least this many characters."""

_FTS = table("fts_core_text", column("rowid"))
_MATCHES: ColumnElement[bool] = literal_column("fts_core_text").op("MATCH")(bindparam("match"))


@dataclass(frozen=True, slots=True)
class ListVariant:
    """What a list statement looks like: values vary, the shape is compiled once."""

    top: bool
    game: bool
    words: int
    """How many words are looked for by scanning the folded text."""
    match: bool
    """Whether SQLite's full-text index is asked."""


def _hits(shape: ListVariant) -> AnySelect:
    """(id, updated_at, score) of every hit, in no order; the score only where it is needed."""
    if shape.match or shape.words:
        source: Any = PublicText
        mod_id, moment = PublicText.mod_id, PublicText.updated_at
        joined = select(mod_id.label("id"), moment.label("moment"))
        if shape.game:
            joined = joined.join(PublicGame, PublicGame.mod_id == mod_id).where(PublicGame.folded == bindparam("game"))
        if shape.match:
            joined = joined.where(moment.in_(select(_FTS.c.rowid).where(_MATCHES)))
        for number in range(shape.words):
            joined = joined.where(PublicText.text.like(bindparam(f"word{number}"), escape="\\"))
    elif shape.game:
        source = PublicGame
        mod_id, moment = PublicGame.mod_id, PublicGame.updated_at
        joined = select(mod_id.label("id"), moment.label("moment")).where(PublicGame.folded == bindparam("game"))
    else:
        return select(PublicMod.id.label("id"), PublicMod.updated_at.label("moment"), PublicMod.score.label("score"))
    if shape.top:
        joined = joined.add_columns(PublicMod.score.label("score")).join(PublicMod, PublicMod.id == source.mod_id)
    return joined


_DOCUMENT: Final = (PublicMod.document,)


def page_statement(shape: ListVariant, columns: tuple[Any, ...] = _DOCUMENT) -> AnySelect:
    """The documents of one page: ``size`` of them behind ``offset``; documents are touched only for the page itself."""
    if shape.match and not (shape.words or shape.game or shape.top):
        # The index's row number is the time of change: the newest hits are read straight from it.
        newest = select(_FTS.c.rowid.label("moment")).where(_MATCHES).order_by(_FTS.c.rowid.desc())
        hits = newest.limit(bindparam("size")).offset(bindparam("offset")).subquery()
        joined = select(*columns).join(hits, PublicMod.updated_at == hits.c.moment)
        return joined.order_by(PublicMod.updated_at.desc(), PublicMod.id.desc())
    found = _hits(shape).subquery()
    order: list[Any] = [found.c.moment.desc(), found.c.id.desc()]
    if shape.top:
        order.insert(0, found.c.score.desc())
    page = select(found.c.id).order_by(*order).limit(bindparam("size")).offset(bindparam("offset")).subquery()
    again: list[Any] = [PublicMod.updated_at.desc(), PublicMod.id.desc()]
    if shape.top:
        again.insert(0, PublicMod.score.desc())
    return select(*columns).join(page, page.c.id == PublicMod.id).order_by(*again)


def total_statement(shape: ListVariant) -> AnySelect:
    """How many hits there are in all."""
    if shape.match and not (shape.words or shape.game):
        return select(func.count()).select_from(_FTS).where(_MATCHES)
    if not (shape.match or shape.words or shape.game):
        return select(PublicCounter.value).where(PublicCounter.name == PUBLISHED)
    hits = _hits(ListVariant(top=False, game=shape.game, words=shape.words, match=shape.match)).subquery()
    return select(func.count()).select_from(hits)


def chain_statement(start: ColumnElement[bool] | None = None) -> AnySelect:
    """(guid, id, document, requires, links) of the mod ``id`` and all that it requires, as deep as it goes.

    NULL: missing. ``start`` chooses other mods to begin with.

    One statement whatever the chain. Scalar subqueries instead of joins: SQLite's planner answers a join here with a
    filter over the whole table.
    """
    start = PublicMod.id == bindparam("id") if start is None else start
    reach = select(PublicMod.guid.label("guid")).where(start).cte("reach", recursive=True)
    deeper = select(PublicRequirement.guid).select_from(reach, PublicRequirement)
    reach = reach.union(deeper.where(PublicRequirement.mod_id == _of(reach, PublicMod.id)))
    columns = (PublicMod.id, PublicMod.document, PublicMod.requires, PublicMod.links)
    return select(reach.c.guid, *(_of(reach, wanted) for wanted in columns))


def _of(reach: Any, wanted: Any) -> Any:
    return select(wanted).where(PublicMod.guid == reach.c.guid).correlate(reach).scalar_subquery()


NOTE_COLUMNS: Final = (Note.id, Note.title, Note.text, Note.created_at, Note.edited_at, Note.automatic)
"""What :func:`modhub.catalogue.read_service.note_of` reads."""


def notes_statement() -> AnySelect:
    """The changelog of a published mod, newest first; one row of NULLs when it has no entry."""
    joined = select(*NOTE_COLUMNS).select_from(PublicMod).outerjoin(Note, Note.mod_id == PublicMod.id)
    return joined.where(PublicMod.id == bindparam("id")).order_by(Note.id.desc())


_STORED = (StoredBlob.key, StoredBlob.size, StoredBlob.sha256)
FILE_COLUMNS: Final = (*_STORED, Asset.name, Asset.content_type, Asset.stored_at, Asset.kind)
"""What :func:`modhub.catalogue.read_service.file_of` reads, and the kind."""


def asset_statement() -> AnySelect:
    """The file with the asset id ``id``, of a published mod."""
    joined = select(*FILE_COLUMNS).select_from(Asset).join(StoredBlob, StoredBlob.id == Asset.blob_id)
    return joined.join(PublicMod, PublicMod.id == Asset.mod_id).where(Asset.id == bindparam("id"))


def code_statement() -> AnySelect:
    """The code file of the published mod ``id``."""
    joined = select(*FILE_COLUMNS).select_from(Asset).join(StoredBlob, StoredBlob.id == Asset.blob_id)
    joined = joined.join(PublicMod, PublicMod.id == Asset.mod_id)
    return joined.where(PublicMod.id == bindparam("id"), Asset.kind == AssetKind.CODE.value)


def icon_statement() -> AnySelect:
    """The icon ``id`` of a curated game."""
    columns = (*_STORED, GameIcon.name, GameIcon.content_type, GameIcon.stored_at)
    joined = select(*columns).select_from(GameIcon).join(StoredBlob, StoredBlob.id == GameIcon.blob_id)
    return joined.where(GameIcon.id == bindparam("id"))


def games_statement() -> AnySelect:
    """(name, display name, icon id or NULL) of the curated games, by what is shown."""
    shown = func.coalesce(func.nullif(Game.display_name, ""), Game.name)
    joined = select(Game.name, shown, GameIcon.id).outerjoin(GameIcon, GameIcon.game_id == Game.id)
    return joined.order_by(Game.folded)


def votes_statement() -> AnySelect:
    """(ups, downs) of the published mod ``id``."""
    return select(Mod.ups, Mod.downs).join(PublicMod, PublicMod.id == Mod.id).where(Mod.id == bindparam("id"))


def owner_statement() -> AnySelect:
    """The account that owns the mod ``id``, published or not: what its ACL needs, and nothing else."""
    return select(Mod.owner).where(Mod.id == bindparam("id"))


def note_owner_statement() -> AnySelect:
    """The account that owns the mod ``id``, if the changelog entry ``member`` is in it."""
    joined = select(Mod.owner).join(Note, Note.mod_id == Mod.id)
    return joined.where(Mod.id == bindparam("id"), Note.id == bindparam("member"))


def image_owner_statement() -> AnySelect:
    """The account that owns the mod ``id``, if the asset ``member`` is an image in it."""
    joined = select(Mod.owner).join(Asset, Asset.mod_id == Mod.id)
    return joined.where(Mod.id == bindparam("id"), Asset.id == bindparam("member"), Asset.kind == AssetKind.IMAGE.value)
