"""Statements that look up many published mods at once. Their lists are single parameters, JSON arrays."""

from typing import Any, Final

from sqlalchemy import JSON, BigInteger, Select, String, bindparam, cast, func, select

from modhub.blobs.models import StoredBlob
from modhub.catalogue.models import Asset, AssetKind, Mod, Note, PublicMod
from modhub.catalogue.queries import NOTE_COLUMNS, AnySelect, public_files
from modhub.db.changes import MOD, PublicChange


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
    """(guid, id, version, size, sha256, asset id) of the published mods ``guids``."""
    columns = (PublicMod.guid, PublicMod.id, Mod.version, StoredBlob.size, StoredBlob.sha256, Asset.id)
    joined = select(*columns).join(Mod, Mod.id == PublicMod.id).join(Asset, Asset.mod_id == PublicMod.id)
    joined = joined.join(StoredBlob, StoredBlob.id == Asset.blob_id)
    return joined.where(guid_is_listed(dialect), Asset.kind == AssetKind.CODE.value)


def stored_code_statement(dialect: str) -> AnySelect:
    """(guid, title, columns of `modhub.catalogue.queries.public_files`) of the code of the published mods ``guids``."""
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
