"""Statements of anonymous reads. Each starts from a public table, so that unpublished mods cannot be found."""

from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    Select,
    Text,
    and_,
    bindparam,
    case,
    column,
    exists,
    false,
    func,
    literal_column,
    select,
    table,
    true,
)
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
    PublicText,
)
from modhub.catalogue.pictures.models import PictureFile
from modhub.catalogue.public_copies import PUBLISHED
from modhub.declarations import PageOrder

AnySelect = Select[*tuple[Any, ...]]

_FTS = table("fts_core_text", column("rowid"))
_MATCHES: ColumnElement[bool] = literal_column("fts_core_text").op("MATCH")(bindparam("match"))
_HAS_REST: ColumnElement[bool] = PublicText.text.op("LIKE", is_comparison=True)(
    func.all(bindparam("rest", type_=ARRAY(Text)))
)


@dataclass(frozen=True, slots=True)
class ListVariant:
    """A variant of the list statement; each is compiled once and executed with different values."""

    top: bool = False
    game: bool = False
    words: int = 0
    """Number of words searched with LIKE in the folded text."""
    rest: bool = False
    """Whether PostgreSQL has more words for LIKE, for which it does not use its index of trigrams."""
    match: bool = False
    """Whether SQLite's index of trigrams finds mods; its rowid is the time of change."""
    short: bool = False
    """Whether SQLite's index of trigrams cannot find one of the words."""
    order: PageOrder | None = None
    ranked: bool = True
    """Of an ``order``: its part with a row of the order's table, or the rest."""
    walks: bool = False
    """Whether mods are read in the order of the list until there are enough hits, instead of all hits: for many."""

    @property
    def has_words(self) -> bool:
        """Whether words are searched."""
        return self.words > 0 or self.rest

    @property
    def has_index(self) -> bool:
        """Whether an index of trigrams finds mods."""
        return self.match or (self.words > 0 and not self.short)

    @property
    def is_filtered(self) -> bool:
        """Whether not all mods are hits."""
        return self.has_words or self.game

    @property
    def is_in_order(self) -> bool:
        """Whether an index has just the hits, and in the order of the list."""
        is_newest = not self.top and self.order is None
        by_index = self.match and not (self.short or self.game)
        return is_newest and (by_index or not self.has_words)


def _likes(variant: ListVariant) -> list[ColumnElement[bool]]:
    likes: list[ColumnElement[bool]] = [_HAS_REST] if variant.rest else []
    return [PublicText.text.like(bindparam(f"word{number}"), escape="\\") for number in range(variant.words)] + likes


def _hits(variant: ListVariant) -> AnySelect:
    """(id, updated_at, score) of all hits, unordered; the score only if the order needs it."""
    if variant.game and not variant.has_index:
        source: Any = PublicGame
        mod_id, moment = PublicGame.mod_id, PublicGame.updated_at
        joined = select(mod_id.label("id"), moment.label("moment")).where(PublicGame.folded == bindparam("game"))
        joined = joined.where(*_are_hits(replace(variant, game=False), mod_id))
    elif variant.has_words:
        source = PublicText
        mod_id, moment = PublicText.mod_id, PublicText.updated_at
        joined = select(mod_id.label("id"), moment.label("moment"))
        if variant.game:
            joined = joined.join(PublicGame, PublicGame.mod_id == mod_id).where(PublicGame.folded == bindparam("game"))
        if variant.match:
            changed = PublicGame.updated_at if variant.game else moment
            joined = joined.where(changed.in_(select(_FTS.c.rowid).where(_MATCHES)))
        if variant.short or not variant.match:
            joined = joined.where(*_likes(variant))
    else:
        return _everything()
    if variant.top:
        joined = joined.add_columns(PublicMod.score.label("score")).join(PublicMod, PublicMod.id == source.mod_id)
    return joined


def _everything() -> AnySelect:
    return select(PublicMod.id.label("id"), PublicMod.updated_at.label("moment"), PublicMod.score.label("score"))


def _are_hits(variant: ListVariant, mod_id: Any) -> list[ColumnElement[bool]]:
    """The conditions for one mod after the other, by its id: no index of words or games is read."""
    conditions: list[ColumnElement[bool]] = []
    if variant.has_words:
        # In a plan for any words PostgreSQL would expect few hits, and read all of them; of this it expects many.
        has_words = case((and_(*_likes(variant)), true()), else_=false())
        conditions.append(exists().where(PublicText.mod_id == mod_id, has_words))
    if variant.game:
        conditions.append(exists().where(PublicGame.mod_id == mod_id, PublicGame.folded == bindparam("game")))
    return conditions


_DOCUMENT: Final = (PublicMod.document,)


def page_statement(variant: ListVariant, columns: tuple[Any, ...] = _DOCUMENT) -> AnySelect:
    """One page of documents: ``size`` from ``offset`` on. Documents are read only for this page."""
    if variant.match and variant.is_in_order:
        # The rowid of the index is the time of change: the newest hits come straight from it.
        newest = select(_FTS.c.rowid.label("moment")).where(_MATCHES).order_by(_FTS.c.rowid.desc())
        page = newest.limit(bindparam("size")).offset(bindparam("offset")).subquery()
        joined = select(*columns).join(page, PublicMod.updated_at == page.c.moment)
        return joined.order_by(PublicMod.updated_at.desc(), PublicMod.id.desc())
    if variant.order is not None and variant.ranked:
        return _ranked_page(_ranked_hits(variant, variant.order), columns)
    return newest_page(_unranked(variant), columns, top=variant.top)


def newest_page(matches: AnySelect, columns: tuple[Any, ...], *, top: bool = False) -> AnySelect:
    """The ``columns`` of one page of what ``matches`` selects as ``id`` and ``moment`` (and ``score`` for ``top``)."""
    hits = matches.subquery()
    order: list[Any] = [hits.c.moment.desc(), hits.c.id.desc()]
    page_order: list[Any] = [PublicMod.updated_at.desc(), PublicMod.id.desc()]
    if top:
        order.insert(0, hits.c.score.desc())
        page_order.insert(0, PublicMod.score.desc())
    page = select(hits.c.id).order_by(*order).limit(bindparam("size")).offset(bindparam("offset")).subquery()
    return select(*columns).join(page, page.c.id == PublicMod.id).order_by(*page_order)


def _unranked(variant: ListVariant) -> AnySelect:
    """The hits; of an order only those without a row in its table."""
    hits = _everything().where(*_are_hits(variant, PublicMod.id)) if variant.walks else _hits(variant)
    if variant.order is None:
        return hits
    matches = hits.subquery()
    return select(matches.c.id, matches.c.moment).where(~exists().where(variant.order.mod_id == matches.c.id))


def _ranked_hits(variant: ListVariant, order: PageOrder) -> AnySelect:
    """The hits with a row in the table of the order, whose index is (value, id of the mod)."""
    if variant.walks:
        # A join would leave the choice to SQLite, which knows nothing about a table that was filled since ANALYZE.
        ranked = select(order.mod_id.label("id"), order.value.label("value"))
        ranked = ranked.where(exists().where(PublicMod.id == order.mod_id), *_are_hits(variant, order.mod_id))
    else:
        hits = _hits(variant).subquery()
        ranked = select(hits.c.id, order.value.label("value")).join(order.mod_id.class_, order.mod_id == hits.c.id)
    return ranked.order_by(order.value.desc(), order.mod_id.desc())


def _ranked_page(ranked: AnySelect, columns: tuple[Any, ...]) -> AnySelect:
    page = ranked.limit(bindparam("size")).offset(bindparam("offset")).subquery()
    joined = select(*columns).join(page, page.c.id == PublicMod.id)
    return joined.order_by(page.c.value.desc(), PublicMod.id.desc())


def ranked_total_statement(variant: ListVariant) -> AnySelect:
    """The number of hits with a row in the table of the variant's order."""
    assert variant.order is not None
    return select(func.count()).select_from(_ranked_hits(variant, variant.order).order_by(None).subquery())


def total_statement(variant: ListVariant) -> AnySelect:
    """The total number of hits."""
    if not variant.is_filtered:
        return select(PublicCounter.value).where(PublicCounter.name == PUBLISHED)
    if variant.match and not (variant.short or variant.game):
        return select(func.count()).select_from(_FTS).where(_MATCHES)
    return select(func.count()).select_from(_hits(replace(variant, top=False)).subquery())


NOTE_COLUMNS: Final = (Note.id, Note.title, Note.text, Note.created_at, Note.edited_at, Note.automatic)
"""The columns for :func:`modhub.catalogue.read_service.note_of`."""


def note_states_statement() -> AnySelect:
    """(id, time of the last edit, characters) of the entries that `notes_statement` selects, in its order."""
    characters = func.length(Note.text) + func.length(func.coalesce(Note.title, ""))
    joined = select(Note.id, Note.edited_at, characters).select_from(PublicMod)
    joined = joined.outerjoin(Note, Note.mod_id == PublicMod.id)
    return joined.where(PublicMod.id == bindparam("id")).order_by(Note.id.desc())


def notes_statement() -> AnySelect:
    """The changelog of a published mod, newest first; one row of NULLs if it is empty."""
    joined = select(*NOTE_COLUMNS).select_from(PublicMod).outerjoin(Note, Note.mod_id == PublicMod.id)
    return joined.where(PublicMod.id == bindparam("id")).order_by(Note.id.desc())


_STORED = (StoredBlob.key, StoredBlob.size, StoredBlob.sha256)
FILE_COLUMNS: Final = (*_STORED, Asset.name, Asset.content_type, Asset.stored_at, Asset.kind)
"""The columns for :func:`modhub.catalogue.read_service.file_of`, and the kind."""


def _public_files() -> AnySelect:
    """`FILE_COLUMNS`, and (asset id, mod id, version of the mod), of the files of published mods."""
    columns = (*FILE_COLUMNS, Asset.id, Asset.mod_id, Mod.version)
    joined = select(*columns).select_from(Asset).join(StoredBlob, StoredBlob.id == Asset.blob_id)
    return joined.join(PublicMod, PublicMod.id == Asset.mod_id).join(Mod, Mod.id == Asset.mod_id)


def asset_statement() -> AnySelect:
    """The file with the asset id ``id``, if its mod is published."""
    return _public_files().where(Asset.id == bindparam("id"))


def code_statement() -> AnySelect:
    """The code file of the published mod ``id``."""
    return _public_files().where(PublicMod.id == bindparam("id"), Asset.kind == AssetKind.CODE.value)


def picture_statement() -> AnySelect:
    """The picture ``name`` of the image ``id``, if its mod is published."""
    columns = (*_STORED, PictureFile.name, PictureFile.content_type, PictureFile.made_at)
    joined = select(*columns).select_from(PictureFile).join(StoredBlob, StoredBlob.id == PictureFile.blob_id)
    joined = joined.join(Asset, Asset.id == PictureFile.asset_id).join(PublicMod, PublicMod.id == Asset.mod_id)
    return joined.where(PictureFile.asset_id == bindparam("id"), PictureFile.name == bindparam("name"))


def captions_statement() -> AnySelect:
    """(asset id, caption) of the images of the published mod ``id`` in order; one row of NULLs if it has none."""
    is_image = and_(Asset.mod_id == PublicMod.id, Asset.kind == AssetKind.IMAGE.value)
    joined = select(Asset.id, Asset.caption).select_from(PublicMod).outerjoin(Asset, is_image)
    order = (Asset.position.is_(None), Asset.position, Asset.id)
    return joined.where(PublicMod.id == bindparam("id")).order_by(*order)


def icon_statement() -> AnySelect:
    """The icon ``id`` of a curated game."""
    columns = (*_STORED, GameIcon.name, GameIcon.content_type, GameIcon.stored_at)
    joined = select(*columns).select_from(GameIcon).join(StoredBlob, StoredBlob.id == GameIcon.blob_id)
    return joined.where(GameIcon.id == bindparam("id"))


def games_statement() -> AnySelect:
    """(name, display name, icon id or NULL) of the curated games, by folded name."""
    display_name = func.coalesce(func.nullif(Game.display_name, ""), Game.name)
    joined = select(Game.name, display_name, GameIcon.id).outerjoin(GameIcon, GameIcon.game_id == Game.id)
    return joined.order_by(Game.folded)


def votes_statement() -> AnySelect:
    """(ups, downs) of the published mod ``id``."""
    return select(Mod.ups, Mod.downs).join(PublicMod, PublicMod.id == Mod.id).where(Mod.id == bindparam("id"))


def published_by_statement() -> AnySelect:
    """One row if the account ``owner`` has a published mod."""
    return select(PublicMod.id).where(PublicMod.owner == bindparam("owner")).limit(1)


def owner_statement() -> AnySelect:
    """The owner of the mod ``id``, published or not; for its ACL."""
    return select(Mod.owner).where(Mod.id == bindparam("id"))


def note_owner_statement() -> AnySelect:
    """The owner of the mod ``id``, if ``member`` is one of its changelog entries."""
    joined = select(Mod.owner).join(Note, Note.mod_id == Mod.id)
    return joined.where(Mod.id == bindparam("id"), Note.id == bindparam("member"))


def image_owner_statement() -> AnySelect:
    """The owner of the mod ``id``, if the asset ``member`` is one of its images."""
    joined = select(Mod.owner).join(Asset, Asset.mod_id == Mod.id)
    return joined.where(Mod.id == bindparam("id"), Asset.id == bindparam("member"), Asset.kind == AssetKind.IMAGE.value)
