"""What other features learn about mods: what everybody sees, and mods as they are."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from modhub.base.composed_body import ComposedBody, ContentChanged
from modhub.base.errors import OwnershipLost, busy
from modhub.blobs.models import StoredBlob
from modhub.catalogue.copies import IS_PUBLIC
from modhub.catalogue.documents import decode_mod
from modhub.catalogue.models import IS_THERE, Asset, Mod, PublicMod, PublicRequirement, Vote
from modhub.catalogue.moderating import hiding
from modhub.catalogue.owning.services import hand_over, lock_owner
from modhub.catalogue.reading import statements
from modhub.catalogue.reading.documents import install_order
from modhub.catalogue.reading.service import CatalogueReader
from modhub.catalogue.reading.statements import note_of
from modhub.content.limits import PAGE_SIZE_MOST
from modhub.db import bulk, from_micros, iso
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.plugins.services import AccountUse, ModSummary, PublicFile, PublicNote, RelatedMod, StoredDocument
from modhub.web.payload import encode
from modhub.web.responses import MAX_COMPOSITIONS

_NOTES_CHARACTERS: Final = 500_000
"""Characters of the changelog entries that are read at once, of all mods together."""


class PublicLookup:
    """See :class:`modhub.plugins.services.IPublicMods`; one per application."""

    def __init__(self, executor: RawQueryExecutor, mods: CatalogueReader) -> None:
        self._executor = executor
        self._mods = mods
        dialect = executor.dialect
        self._id = PreparedQuery(statements.id_statement())
        self._documents = PreparedQuery(statements.few_documents_statement(dialect))
        self._files = PreparedQuery(statements.files_statement(dialect))
        self._notes = PreparedQuery(statements.newest_notes_statement(dialect))
        self._serials = PreparedQuery(statements.serials_statement())

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
        return {file.guid: file for file in map(_public_file, self._of(self._files, guids))}

    def get_notes(self, mod_ids: Collection[int], most: int) -> dict[int, list[PublicNote]]:
        """Return the newest changelog entries of mods by their ids, in one statement."""
        notes: dict[int, list[PublicNote]] = defaultdict(list)
        values = {"ids": _array(mod_ids), "most": most, "characters": _NOTES_CHARACTERS}
        for row in self._executor.rows(self._notes, **values):
            notes[row[0]].append(PublicNote(row[1], row[2], note_of(row[3:])))
        return notes

    def get_related(self, guids: Collection[str]) -> dict[str, RelatedMod]:
        """Return these mods by their GUIDs, in three statements."""
        return self._related(lambda: self._mods.stored.measure(guids))

    def get_chains(self, guids: Collection[str]) -> dict[str, RelatedMod]:
        """Return these mods and all that they require, by their GUIDs, in three statements."""
        return self._related(lambda: self._mods.stored.chains(guids))

    def _related(self, measure: Callable[[], dict[str, StoredDocument]]) -> dict[str, RelatedMod]:
        for _ in range(MAX_COMPOSITIONS):
            stored = measure()
            # Between the two others: a file that is replaced meanwhile is a change too.
            files = self.get_files(stored)
            try:
                documents = self._mods.stored.documents(stored.values())
                pairs = zip(stored.values(), documents, strict=True)
                return {mod.guid: _related(mod, document, files.get(mod.guid)) for mod, document in pairs}
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


def _public_file(row: Row) -> PublicFile:
    asset_id, uploaded_at = row[-2:]
    return PublicFile._make((*row[:-2], f"/Modhub/file/{asset_id}", iso(from_micros(uploaded_at))))


def _array(items: Collection[Any]) -> str:
    return encode(list(items)).decode()


def _related(mod: StoredDocument, document: bytes, file: PublicFile | None) -> RelatedMod:
    fields = decode_mod(document)
    file = file or PublicFile(mod.guid, mod.id, fields.title, fields.version, "", 0, "", "", "")
    return RelatedMod(file, mod.requires.split(), fields.conflicts_with)


LAST_ID: Final = 2**63 - 1
"""The highest number that a column of ids holds."""
_SUMMARY: Final = (
    Mod.id,
    Mod.guid,
    Mod.title,
    Mod.owner,
    IS_PUBLIC,
    Mod.version,
    Mod.hidden_at.is_not(None),
    Mod.published_at,
)

_USE: Final = (
    select(
        Mod.owner,
        func.count(Mod.id.distinct()).label("mods"),
        func.count(Asset.id).label("files"),
        func.coalesce(func.sum(StoredBlob.size), 0).label("bytes"),
    )
    .outerjoin(Asset, Asset.mod_id == Mod.id)
    .outerjoin(StoredBlob, StoredBlob.id == Asset.blob_id)
    .where(IS_THERE)
    .group_by(Mod.owner)
)


def _account_use(row: Any) -> AccountUse:
    return AccountUse(row.mods, row.files, int(row.bytes))


class ModLookup:
    """See :class:`modhub.plugins.services.IMods`."""

    def get_mods(self, session: Session, mod_ids: Collection[int]) -> dict[int, ModSummary]:
        """Return the mods that exist, in one statement."""
        if len(mod_ids) > PAGE_SIZE_MOST:
            raise ValueError(f"at most {PAGE_SIZE_MOST} mods can be looked up at once")
        # A body may contain a number of any size. One that a column cannot hold is an unknown id, not an error.
        ids = [mod_id for mod_id in mod_ids if 0 < mod_id <= LAST_ID]
        statement = select(*_SUMMARY).where(Mod.id.in_(ids), IS_THERE)
        return {row[0]: ModSummary(*row) for row in session.execute(statement)}

    def lock(self, session: Session, mod_id: int) -> bool:
        """Take a shared lock: it blocks deletion but not other shared locks."""
        if not 0 < mod_id <= LAST_ID:
            return False
        statement = select(Mod.id).where(Mod.id == mod_id, IS_THERE).with_for_update(read=True)
        return session.scalar(statement) is not None

    def lock_own(self, session: Session, mod_id: int | None, owner: int) -> ModSummary:
        """Take an exclusive lock, as the services of the catalogue do before they change a mod."""
        lock_owner(session, owner)
        locked = select(Mod.id).where(Mod.id == (mod_id or 0), Mod.owner == owner).with_for_update()
        if session.scalar(locked) is None:
            raise OwnershipLost
        return ModSummary(*session.execute(select(*_SUMMARY).where(Mod.id == mod_id)).one())

    def hand_over(self, session: Session, mod_id: int, account_id: int) -> None:
        """Hand it over as the operator's command does."""
        hand_over(session, session.get_one(Mod, mod_id), account_id)

    def get_mods_of_account(self, session: Session, account_id: int) -> list[tuple[ModSummary, int]]:
        """Return the mods of an account, most recently changed first, with their dependents; one statement."""
        count = select(func.count()).select_from(PublicRequirement)
        count = count.join(PublicMod, PublicMod.id == PublicRequirement.mod_id)
        of_others = PublicMod.owner != account_id
        dependents = count.where(PublicRequirement.guid == Mod.guid, of_others).correlate(Mod).scalar_subquery()
        statement = select(*_SUMMARY, dependents).where(Mod.owner == account_id)
        rows = session.execute(statement.order_by(Mod.updated_at.desc(), Mod.id.desc()))
        return [(ModSummary(*summary), count) for *summary, count in rows]

    def get_authors(self, session: Session, account_ids: Collection[int]) -> set[int]:
        """Return those with a published mod, in one statement."""
        if len(account_ids) > PAGE_SIZE_MOST:
            raise ValueError(f"at most {PAGE_SIZE_MOST} accounts can be looked up at once")
        return set(session.scalars(select(PublicMod.owner).where(PublicMod.owner.in_(account_ids)).distinct()))

    def get_use(self, session: Session, account_id: int) -> AccountUse:
        """Count in one statement."""
        row = session.execute(_USE.where(Mod.owner == account_id)).one_or_none()
        return AccountUse() if row is None else _account_use(row)

    def get_creation_times(self, session: Session, account_id: int, since: datetime) -> list[datetime]:
        """Read them in one statement."""
        times = select(Mod.created_at).where(Mod.owner == account_id, Mod.created_at > since)
        return list(session.scalars(times.order_by(Mod.created_at.desc())))

    def get_use_of_accounts(self, session: Session) -> dict[int, AccountUse]:
        """Count in one statement; an account without mods is absent."""
        return {row.owner: _account_use(row) for row in session.execute(_USE)}

    def get_votes_since(self, session: Session, moment: datetime) -> dict[int, int]:
        """Sum them up by mod."""
        votes = select(Vote.mod_id, func.sum(Vote.value)).where(Vote.cast_at >= moment).group_by(Vote.mod_id)
        return {mod_id: int(number) for mod_id, number in session.execute(votes)}

    def hide_mods_of_accounts(self, session: Session, account_ids: Collection[int], at: datetime) -> list[int]:
        """Hide them and return their ids."""
        shown = select(Mod.id).where(Mod.hidden_at.is_(None))
        batches = bulk.batches(account_ids)
        owned = [mod_id for batch in batches for mod_id in session.scalars(shown.where(Mod.owner.in_(batch)))]
        mods = hiding.lock_mods(session, owned)
        return [mod.id for mod in hiding.hide_mods(session, list(mods.values()), at=at)]

    def restore_mods_hidden_at(self, session: Session, mod_ids: Collection[int], at: datetime) -> list[int]:
        """Restore them and return their ids."""
        mods = hiding.lock_hidden_at(session, mod_ids, at)
        return [mod.id for mod in hiding.restore_mods(session, mods)]
