"""Statements of anonymous reads. Each starts from a public table, so that unpublished mods cannot be found."""

from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Select,
    String,
    and_,
    bindparam,
    cast,
    func,
    select,
)

from modhub.blobs.models import StoredBlob
from modhub.catalogue.documents import NoteDocument, is_image_type
from modhub.catalogue.models import (
    Asset,
    AssetKind,
    Game,
    GameIcon,
    Mod,
    Note,
    PublicMod,
)
from modhub.catalogue.pictures.models import PictureFile
from modhub.db import from_micros, iso
from modhub.db.changes import MOD, PublicChange
from modhub.db.raw_queries import Row
from modhub.web.downloads import StoredFile

AnySelect = Select[*tuple[Any, ...]]

NOTE_COLUMNS: Final = (Note.id, Note.title, Note.text, Note.created_at, Note.edited_at, Note.automatic)
"""The columns for :func:`note_of`."""


def note_of(row: Row) -> NoteDocument:
    """Build a changelog entry from a row of a notes statement."""
    edited = None if row[4] is None else iso(from_micros(row[4]))
    return NoteDocument(row[0], row[1], row[2], iso(from_micros(row[3])), edited, bool(row[5]))


def note_states_statement() -> AnySelect:
    """(id, time of the last edit, characters) of a published mod's entries, newest first; NULLs if it has none."""
    characters = func.length(Note.text) + func.length(func.coalesce(Note.title, ""))
    joined = select(Note.id, Note.edited_at, characters).select_from(PublicMod)
    joined = joined.outerjoin(Note, Note.mod_id == PublicMod.id)
    return joined.where(PublicMod.id == bindparam("id")).order_by(Note.id.desc())


def notes_statement() -> AnySelect:
    """The changelog of a published mod from the entry ``newest`` to the entry ``oldest``, newest first."""
    joined = select(*NOTE_COLUMNS).select_from(PublicMod).join(Note, Note.mod_id == PublicMod.id)
    part = joined.where(PublicMod.id == bindparam("id"), Note.id.between(bindparam("oldest"), bindparam("newest")))
    return part.order_by(Note.id.desc())


_STORED = (StoredBlob.key, StoredBlob.size, StoredBlob.sha256)
IMAGE_ORDER: Final = (Asset.position.is_(None), Asset.position, Asset.id)
"""The order in which the owner shows images."""
FILE_COLUMNS: Final = (*_STORED, Asset.name, Asset.content_type, Asset.stored_at, Asset.kind)
"""The columns for :func:`file_of`, and the kind."""


def file_of(row: Row, *, inline: bool, cache_control: str) -> StoredFile:
    """Build a stored file from a row of `FILE_COLUMNS`; ``inline`` is for images only."""
    # Only files with a stored image type may be shown inline, whatever their kind (C-FILE-4).
    is_inline = inline and is_image_type(row[4])
    return StoredFile(
        key=row[0],
        size=row[1],
        sha256=row[2],
        name=row[3],
        content_type=row[4],
        modified=from_micros(row[5]),
        inline=is_inline,
        cache_control=cache_control,
    )


def public_files() -> AnySelect:
    """`FILE_COLUMNS`, and (asset id, mod id, version of the mod), of the files of published mods."""
    columns = (*FILE_COLUMNS, Asset.id, Asset.mod_id, Mod.version)
    joined = select(*columns).select_from(Asset).join(StoredBlob, StoredBlob.id == Asset.blob_id)
    return joined.join(PublicMod, PublicMod.id == Asset.mod_id).join(Mod, Mod.id == Asset.mod_id)


def asset_statement() -> AnySelect:
    """The file with the asset id ``id``, if its mod is published."""
    return public_files().where(Asset.id == bindparam("id"))


def code_statement() -> AnySelect:
    """The code file of the published mod ``id``."""
    return public_files().where(PublicMod.id == bindparam("id"), Asset.kind == AssetKind.CODE.value)


def picture_statement() -> AnySelect:
    """The picture ``name`` of the image ``id``, if its mod is published."""
    return _pictures().where(PictureFile.name == bindparam("name"))


def _pictures() -> AnySelect:
    columns = (*_STORED, PictureFile.name, PictureFile.content_type, PictureFile.made_at)
    joined = select(*columns).select_from(PictureFile).join(StoredBlob, StoredBlob.id == PictureFile.blob_id)
    joined = joined.join(Asset, Asset.id == PictureFile.asset_id).join(PublicMod, PublicMod.id == Asset.mod_id)
    return joined.where(PictureFile.asset_id == bindparam("id"))


def pictures_statement() -> AnySelect:
    """The pictures of the image ``id`` whose names begin with ``start``, if its mod is published."""
    return _pictures().where(PictureFile.name.startswith(bindparam("start")))


def captions_statement() -> AnySelect:
    """(asset id, caption) of the images of the published mod ``id`` in order; one row of NULLs if it has none."""
    is_image = and_(Asset.mod_id == PublicMod.id, Asset.kind == AssetKind.IMAGE.value)
    joined = select(Asset.id, Asset.caption).select_from(PublicMod).outerjoin(Asset, is_image)
    return joined.where(PublicMod.id == bindparam("id")).order_by(*IMAGE_ORDER)


def icon_statement() -> AnySelect:
    """The icon ``id`` of a curated game."""
    columns = (*_STORED, GameIcon.name, GameIcon.content_type, GameIcon.stored_at)
    joined = select(*columns).select_from(GameIcon).join(StoredBlob, StoredBlob.id == GameIcon.blob_id)
    return joined.where(GameIcon.id == bindparam("id"))


def games_statement() -> AnySelect:
    """(name, display name, ids of the icon and its copies of 64 and 128 pixels or NULL, its main colour or NULL).

    Of the curated games, by folded name.
    """
    display_name = func.coalesce(func.nullif(Game.display_name, ""), Game.name)
    icon = select(GameIcon.id).where(GameIcon.game_id == Game.id)
    icons = [icon.where(GameIcon.side == side).scalar_subquery() for side in (0, 64, 128)]
    return select(Game.name, display_name, *icons, Game.colour).order_by(Game.folded)


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


def json_items(name: str, dialect: str) -> Select[Any]:
    """The items of the JSON array in the parameter ``name``, as text.

    One parameter, since a list of them would need another statement for each length.
    """
    array: Any = bindparam(name, type_=String)
    if dialect == "sqlite":
        return select(func.json_each(array).table_valued("value").c.value)
    return select(func.json_array_elements_text(cast(array, JSON)).table_valued("value").c.value)


def json_ids(name: str, dialect: str) -> Select[Any]:
    """The same as numbers."""
    return select(cast(json_items(name, dialect).subquery().c.value, BigInteger))


def ids_in_order(dialect: str) -> Any:
    """The numbers in the JSON array ``ids`` as ``id``, with their ``place`` in it."""
    array: Any = bindparam("ids", type_=String)
    if dialect == "sqlite":
        items = func.json_each(array).table_valued("key", "value")
        return select(cast(items.c.value, BigInteger).label("id"), items.c.key.label("place")).subquery()
    elements = func.json_array_elements_text(cast(array, JSON))
    listed = elements.table_valued("value", with_ordinality="place").render_derived(name="listed")
    return select(cast(listed.c.value, BigInteger).label("id"), listed.c.place).subquery()


def guid_is_listed(dialect: str) -> Any:
    """Whether the GUID of a published mod is in ``guids``."""
    return PublicMod.guid.in_(json_items("guids", dialect))


def id_statement() -> AnySelect:
    """The id of the published mod ``guid``."""
    return select(PublicMod.id).where(PublicMod.guid == bindparam("guid"))


def few_documents_statement(dialect: str) -> AnySelect:
    """(guid, document) of the published mods ``guids``."""
    return select(PublicMod.guid, PublicMod.document).where(guid_is_listed(dialect))


def files_statement(dialect: str) -> AnySelect:
    """The fields of `PublicFile` of the published mods ``guids``, with the asset's id for the address."""
    mod = (PublicMod.guid, PublicMod.id, Mod.title, Mod.version)
    file = (Asset.name, StoredBlob.size, StoredBlob.sha256, Asset.id, Asset.stored_at)
    joined = select(*mod, *file).join(Mod, Mod.id == PublicMod.id).join(Asset, Asset.mod_id == PublicMod.id)
    joined = joined.join(StoredBlob, StoredBlob.id == Asset.blob_id)
    return joined.where(guid_is_listed(dialect), Asset.kind == AssetKind.CODE.value)


def stored_code_statement(dialect: str) -> AnySelect:
    """(guid, title, columns of `public_files`) of the code of the published mods ``guids``."""
    listed = public_files().with_only_columns(PublicMod.guid, Mod.title, *public_files().selected_columns)
    return listed.where(guid_is_listed(dialect), Asset.kind == AssetKind.CODE.value)


RANK: Final = "rank"
SUM: Final = "characters"


def newest_notes_statement(dialect: str) -> AnySelect:
    """(mod id, version, sha256, columns of the entry) of the newest ``most`` entries of the published mods ``ids``.

    Those that go beyond ``characters`` of text, of all mods together, are left out.
    """
    place = func.row_number().over(partition_by=Note.mod_id, order_by=Note.id.desc()).label(RANK)
    published = select(Note.mod_id, Note.version, Note.sha256, *NOTE_COLUMNS, place)
    published = published.join(PublicMod, PublicMod.id == Note.mod_id)
    ranked = published.where(PublicMod.id.in_(json_ids("ids", dialect))).subquery()
    sums = func.sum(func.length(ranked.c.text)).over(order_by=(ranked.c.mod_id, ranked.c.id.desc())).label(SUM)
    summed = select(*ranked.c, sums).where(ranked.c[RANK] <= bindparam("most")).subquery()
    columns = [column for column in summed.c if column.name not in {RANK, SUM}]
    listed = select(*columns).where(summed.c[SUM] <= bindparam("characters"))
    return listed.order_by(summed.c.mod_id, summed.c.id.desc())


def serials_statement() -> AnySelect:
    """(serial, document) of ``size`` published mods by serial, after ``after`` and up to ``until``."""
    joined = select(PublicChange.serial, PublicMod.document).join(PublicMod, PublicMod.guid == PublicChange.key)
    page = joined.where(PublicChange.serial > bindparam("after"), PublicChange.serial <= bindparam("until"))
    return page.where(PublicChange.kind == MOD).order_by(PublicChange.serial).limit(bindparam("size"))
