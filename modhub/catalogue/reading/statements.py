"""Statements of anonymous reads. Each starts from a public table, so that unpublished mods cannot be found."""

from typing import Any, Final

from sqlalchemy import BigInteger, Select, String, TableValuedAlias, and_, bindparam, cast, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from modhub.blobs.models import StoredBlob
from modhub.catalogue.documents import NoteDocument, is_image_type
from modhub.catalogue.models import (
    IS_CODE,
    IS_IMAGE,
    Asset,
    Game,
    GameIcon,
    Mod,
    Note,
    PublicMod,
)
from modhub.catalogue.pictures.models import PictureFile
from modhub.db import from_micros, iso
from modhub.db.changes import MOD, PublicChange
from modhub.db.raw_queries import PreparedQuery, Row
from modhub.web.downloads import StoredFile

AnySelect = Select[*tuple[Any, ...]]

NOTE_COLUMNS: Final = (Note.id, Note.title, Note.text, Note.created_at, Note.edited_at, Note.automatic)
"""The columns for :func:`note_of`."""


def note_of(row: Row) -> NoteDocument:
    """Build a changelog entry from a row of a notes statement."""
    edited = None if row[4] is None else iso(from_micros(row[4]))
    return NoteDocument(row[0], row[1], row[2], iso(from_micros(row[3])), edited, bool(row[5]))


IS_ASKED_FOR: Final = PublicMod.id == bindparam("id")
"""Whether it is the published mod ``id``."""
NOTE_STATES: Final = PreparedQuery(
    select(Note.id, Note.edited_at, func.length(Note.text) + func.length(func.coalesce(Note.title, "")))
    .select_from(PublicMod)
    .outerjoin(Note, Note.mod_id == PublicMod.id)
    .where(IS_ASKED_FOR)
    .order_by(Note.id.desc())
)
"""(id, time of the last edit, characters) of a published mod's entries, newest first; NULLs if it has none."""
NOTES: Final = PreparedQuery(
    select(*NOTE_COLUMNS)
    .select_from(PublicMod)
    .join(Note, Note.mod_id == PublicMod.id)
    .where(IS_ASKED_FOR, Note.id.between(bindparam("oldest"), bindparam("newest")))
    .order_by(Note.id.desc())
)
"""The changelog of a published mod from the entry ``newest`` to the entry ``oldest``, newest first."""
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


_FILES: Final = (
    select(*FILE_COLUMNS, Asset.id, Asset.mod_id, Mod.guid, Mod.title, Mod.version)
    .select_from(Asset)
    .join(StoredBlob, StoredBlob.id == Asset.blob_id)
    .join(PublicMod, PublicMod.id == Asset.mod_id)
    .join(Mod, Mod.id == Asset.mod_id)
)
"""`FILE_COLUMNS`, and (asset id; id, GUID, title and version of the mod), of the files of published mods."""
ASSET: Final = PreparedQuery(_FILES.where(Asset.id == bindparam("id")))
"""The file with the asset id ``id``, if its mod is published."""
CODE: Final = PreparedQuery(_FILES.where(IS_ASKED_FOR, IS_CODE))
"""The code file of the published mod ``id``."""
_PICTURES: Final = (
    select(*_STORED, PictureFile.name, PictureFile.content_type, PictureFile.made_at)
    .join(StoredBlob, StoredBlob.id == PictureFile.blob_id)
    .join(Asset, Asset.id == PictureFile.asset_id)
    .join(PublicMod, PublicMod.id == Asset.mod_id)
    .where(PictureFile.asset_id == bindparam("id"))
)
PICTURE: Final = PreparedQuery(_PICTURES.where(PictureFile.name == bindparam("name")))
"""The picture ``name`` of the image ``id``, if its mod is published."""
PICTURES: Final = PreparedQuery(_PICTURES.where(PictureFile.name.startswith(bindparam("start"))))
"""The pictures of the image ``id`` whose names begin with ``start``, if its mod is published."""
CAPTIONS: Final = PreparedQuery(
    select(Asset.id, Asset.caption)
    .select_from(PublicMod)
    .outerjoin(Asset, and_(Asset.mod_id == PublicMod.id, IS_IMAGE))
    .where(IS_ASKED_FOR)
    .order_by(*IMAGE_ORDER)
)
"""(asset id, caption) of the images of the published mod ``id`` in order; one row of NULLs if it has none."""
ICON: Final = PreparedQuery(
    select(*_STORED, GameIcon.name, GameIcon.content_type, GameIcon.stored_at)
    .join(StoredBlob, StoredBlob.id == GameIcon.blob_id)
    .where(GameIcon.id == bindparam("id"))
)
"""The icon ``id`` of a curated game."""
_ICON: Final = select(GameIcon.id).where(GameIcon.game_id == Game.id)
GAMES: Final = PreparedQuery(
    select(
        Game.name,
        func.coalesce(func.nullif(Game.display_name, ""), Game.name),
        *(_ICON.where(GameIcon.side == side).scalar_subquery() for side in (0, 64, 128)),
        Game.colour,
    ).order_by(Game.folded)
)
"""(name, display name, ids of the icon and its copies of 64 and 128 pixels or NULL, its main colour or NULL).

Of the curated games, by folded name.
"""
VOTES: Final = PreparedQuery(select(Mod.ups, Mod.downs).join(PublicMod, PublicMod.id == Mod.id).where(IS_ASKED_FOR))
"""(ups, downs) of the published mod ``id``."""


class _JsonItems(FunctionElement[Any]):
    """The items of a JSON array."""

    inherit_cache = True


@compiles(_JsonItems, "sqlite")
def _items_in_sqlite(element: _JsonItems, compiler: Any, **keywords: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **keywords)})"


@compiles(_JsonItems, "postgresql")
def _items_in_postgresql(element: _JsonItems, compiler: Any, **keywords: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **keywords)} AS JSON))"


def json_rows(array: Any) -> TableValuedAlias:
    """The items of a JSON array as rows, each with its ``value`` as text."""
    return _JsonItems(array).table_valued("value")


def json_items(name: str) -> Select[Any]:
    """The items of the JSON array in the parameter ``name``, as text.

    One parameter, since a list of them would need another statement for each length.
    """
    return select(json_rows(bindparam(name, type_=String)).c.value)


def json_ids(name: str) -> Select[Any]:
    """The same as numbers."""
    return select(cast(json_items(name).subquery().c.value, BigInteger))


GUID_IS_LISTED: Final = PublicMod.guid.in_(json_items("guids"))
"""Whether the GUID of a published mod is in ``guids``."""
ID: Final = PreparedQuery(select(PublicMod.id).where(PublicMod.guid == bindparam("guid")))
"""The id of the published mod ``guid``."""
FEW_DOCUMENTS: Final = PreparedQuery(select(PublicMod.guid, PublicMod.document).where(GUID_IS_LISTED))
"""(guid, document) of the published mods ``guids``."""
FILES: Final = PreparedQuery(
    select(PublicMod.guid, PublicMod.id, Mod.title, Mod.version)
    .add_columns(Asset.name, StoredBlob.size, StoredBlob.sha256, Asset.id, Asset.stored_at)
    .join(Mod, Mod.id == PublicMod.id)
    .join(Asset, Asset.mod_id == PublicMod.id)
    .join(StoredBlob, StoredBlob.id == Asset.blob_id)
    .where(GUID_IS_LISTED, IS_CODE)
)
"""The fields of `PublicFile` of the published mods ``guids``, with the asset's id for the address."""
CODES: Final = PreparedQuery(_FILES.where(GUID_IS_LISTED, IS_CODE))
"""The code files of the published mods ``guids``."""
RANK: Final = "rank"
SUM: Final = "characters"


def _newest_notes() -> AnySelect:
    place = func.row_number().over(partition_by=Note.mod_id, order_by=Note.id.desc()).label(RANK)
    published = select(Note.mod_id, Note.version, Note.sha256, *NOTE_COLUMNS, place)
    published = published.join(PublicMod, PublicMod.id == Note.mod_id)
    ranked = published.where(PublicMod.id.in_(json_ids("ids"))).subquery()
    sums = func.sum(func.length(ranked.c.text)).over(order_by=(ranked.c.mod_id, ranked.c.id.desc())).label(SUM)
    summed = select(*ranked.c, sums).where(ranked.c[RANK] <= bindparam("most")).subquery()
    columns = [column for column in summed.c if column.name not in {RANK, SUM}]
    listed = select(*columns).where(summed.c[SUM] <= bindparam("characters"))
    return listed.order_by(summed.c.mod_id, summed.c.id.desc())


NEWEST_NOTES: Final = PreparedQuery(_newest_notes())
"""(mod id, version, sha256, columns of the entry) of the newest ``most`` entries of the published mods ``ids``.

Those that go beyond ``characters`` of text, of all mods together, are left out.
"""
SERIALS: Final = PreparedQuery(
    select(PublicChange.serial, PublicMod.document)
    .join(PublicMod, PublicMod.guid == PublicChange.key)
    .where(PublicChange.serial > bindparam("after"), PublicChange.serial <= bindparam("until"))
    .where(PublicChange.kind == MOD)
    .order_by(PublicChange.serial)
    .limit(bindparam("size"))
)
"""(serial, document) of ``size`` published mods by serial, after ``after`` and up to ``until``."""
