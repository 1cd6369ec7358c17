"""Published mods by GUID, many at once: the service :class:`modhub.plugins.services.IPublicMods`."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from modhub.base.composed_body import ComposedBody, ContentChanged
from modhub.base.errors import busy
from modhub.catalogue import lookup_queries
from modhub.catalogue.chains import install_order
from modhub.catalogue.models import AssetKind
from modhub.catalogue.queries import note_of
from modhub.catalogue.read_service import CatalogueReader
from modhub.catalogue.response_schemas import AssetDocument, code_digest, decode_mod
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.plugins.services import PublicFile, PublicNote, RelatedMod, StoredDocument
from modhub.web.payload import encode
from modhub.web.responses import MAX_COMPOSITIONS

_NO_CODE: Final = AssetDocument("", "", 0, "")
_NOTES_CHARACTERS: Final = 500_000
"""Characters of the changelog entries that are read at once, of all mods together."""


class PublicLookup:
    """See :class:`modhub.plugins.services.IPublicMods`; one per application."""

    def __init__(self, executor: RawQueryExecutor, mods: CatalogueReader) -> None:
        self._executor = executor
        self._mods = mods
        dialect = executor.dialect
        self._id = PreparedQuery(lookup_queries.id_statement())
        self._documents = PreparedQuery(lookup_queries.few_documents_statement(dialect))
        self._files = PreparedQuery(lookup_queries.files_statement(dialect))
        self._notes = PreparedQuery(lookup_queries.newest_notes_statement(dialect))
        self._serials = PreparedQuery(lookup_queries.serials_statement())

    def read(self, guid: str) -> ComposedBody | None:
        """One statement more than any other read of the mod: its id."""
        rows = self._executor.rows(self._id, guid=guid)
        return self._mods.mod(rows[0][0]) if rows else None

    def measure(self, guids: Collection[str]) -> dict[str, StoredDocument]:
        """Return the size and serial of each stored document by its GUID, in one statement."""
        return self._mods.stored.measure(guids)

    def documents(self, stored: Iterable[StoredDocument]) -> Iterator[bytes]:
        """Yield the documents in the order of ``stored``, a statement for each megabyte."""
        return self._mods.stored.documents(stored)

    def get_documents(self, guids: Collection[str]) -> dict[str, bytes]:
        """Return the documents of public mods by their GUIDs, in one statement."""
        return {guid: bytes(document) for guid, document in self._of(self._documents, guids)}

    def get_files(self, guids: Collection[str]) -> dict[str, PublicFile]:
        """Return the code files of public mods by their GUIDs, in one statement."""
        return {
            guid: PublicFile(guid, mod_id, version, size, sha256, f"/Modhub/file/{asset_id}")
            for guid, mod_id, version, size, sha256, asset_id in self._of(self._files, guids)
        }

    def get_notes(self, mod_ids: Collection[int], most: int) -> dict[int, list[PublicNote]]:
        """Return the newest changelog entries of mods by their ids, in one statement."""
        notes: dict[int, list[PublicNote]] = defaultdict(list)
        values = {"ids": _array(mod_ids), "most": most, "characters": _NOTES_CHARACTERS}
        for row in self._executor.rows(self._notes, **values):
            notes[row[0]].append(PublicNote(row[1], row[2], note_of(row[3:])))
        return notes

    def get_related(self, guids: Collection[str]) -> dict[str, RelatedMod]:
        """Return these mods by their GUIDs, in two statements."""
        return self._related(lambda: self._mods.stored.measure(guids))

    def get_chains(self, guids: Collection[str]) -> dict[str, RelatedMod]:
        """Return these mods and all that they require, by their GUIDs, in two statements."""
        return self._related(lambda: self._mods.stored.chains(guids))

    def _related(self, measure: Callable[[], dict[str, StoredDocument]]) -> dict[str, RelatedMod]:
        for _ in range(MAX_COMPOSITIONS):
            stored = measure()
            try:
                documents = self._mods.stored.documents(stored.values())
                pairs = zip(stored.values(), documents, strict=True)
                return {mod.guid: _related(mod, document) for mod, document in pairs}
            except ContentChanged:
                continue
        raise busy()

    def order(self, guids: Iterable[str], requires: dict[str, list[str]]) -> tuple[list[str], list[str]]:
        """Return the order of installation and the GUIDs that are missing, without a statement."""
        return install_order(guids, requires)

    def get_page(self, after: int, until: int, size: int) -> list[tuple[int, bytes]]:
        """Return (serial, document) of the next mods by serial, in one statement."""
        rows = self._executor.rows(self._serials, after=after, until=until, size=size)
        return [(serial, bytes(document)) for serial, document in rows]

    def _of(self, statement: Any, guids: Collection[str]) -> list[Row]:
        return self._executor.rows(statement, guids=_array(guids))


def _array(items: Collection[Any]) -> str:
    return encode(list(items)).decode()


def _related(mod: StoredDocument, document: bytes) -> RelatedMod:
    fields = decode_mod(document)
    # The code comes first (C-MOD-12).
    code = fields.assets[0] if fields.assets and fields.assets[0].kind == AssetKind.CODE else _NO_CODE
    file = PublicFile(mod.guid, mod.id, fields.version, code.bytes, code_digest(mod.links), code.url)
    return RelatedMod(file, mod.requires.split(), fields.conflicts_with, fields.title)
