"""Anonymous reads: what has changed, for callers that name mods by GUID and for those that follow all of them."""

from collections.abc import Iterator, Mapping
from itertools import accumulate

from msgspec import UNSET

from modhub.base.composed_body import ComposedBody
from modhub.base.errors import ApiError
from modhub.content.text import N_
from modhub.db import iso
from modhub.db.changes import MAX_SERIAL, MOD, ChangeEntry, ChangeReader, What
from modhub.plugins.services import IPublicMods, PublicFile, PublicNote, StoredDocument
from modhub.web.payload import encode
from modhub_sync import limits
from modhub_sync.planning import digest_relations, make_plan
from modhub_sync.schemas import (
    ChangedMod,
    ChangeDocument,
    ChangesDocument,
    EntryState,
    InstalledEntry,
    LockStateDocument,
    LookupRest,
    PlanDocument,
    RelationsDocument,
    UpdatesDocument,
)


def lookup(mods: IPublicMods, guids: Mapping[str, str]) -> ComposedBody:
    """Return the mods, the GUIDs that are not published, and those for which there is no room, as sent (C-SYNC-16).

    Two statements.
    """
    published = mods.measure(guids)
    sizes = accumulate(published[guid].size for guid in guids if guid in published)
    count = max(1, sum(size <= limits.LOOKUP_ANSWER for size in sizes))
    shown = [guid for guid in guids if guid in published][:count]
    rest = LookupRest(
        [sent for guid, sent in guids.items() if guid not in published],
        [guids[guid] for guid in guids if guid in published][count:] or UNSET,
    )
    return _compose_lookup(mods, [published[guid] for guid in shown], encode(rest))


def updates(mods: IPublicMods, have: Mapping[str, InstalledEntry]) -> UpdatesDocument:
    """Compare what the caller has with what is published; one statement if nothing has changed, else two.

    Three more for callers that send ``relations``.
    """
    files = mods.get_files(have)
    changed = [
        (files[guid], mod)
        for guid, mod in have.items()
        if guid in files and not mod.has(files[guid].version, files[guid].sha256)
    ]
    notes = mods.get_notes([file.id for file, _ in changed], limits.NOTES) if changed else {}
    document = UpdatesDocument(
        changed=[_changed_mod(file, mod, notes.get(file.id, [])) for file, mod in changed],
        gone=[mod.guid for guid, mod in have.items() if guid not in files],
        same=len(files) - len(changed),
    )
    known = {guid: mod.relations for guid, mod in have.items() if isinstance(mod.relations, str)}
    if known:
        digests = {guid: digest_relations(mod) for guid, mod in mods.get_related(known).items()}
        others = [guid for guid in known if guid in digests and digests[guid] != known[guid]]
        document.relations_changed = others
        document.relations = [RelationsDocument(guid, digests[guid]) for guid in others]
    return document


def changes(reader: ChangeReader, since: int, limit: int, feed: str) -> ChangesDocument:
    """Return the changes after ``since``; 410 if the caller knows another sequence of serials."""
    page = reader.page(min(since, MAX_SERIAL), limit + 1)
    if since > page.head or (feed and feed != page.feed):
        message = N_("The list of changes has started again, because the service was restored. Start with since=0.")
        raise ApiError(410, "feed_restarted", message)
    shown, more = page.changes[:limit], len(page.changes) > limit
    serial = shown[-1].serial if more else page.head
    return ChangesDocument(page.feed, serial, more, [_change_document(entry) for entry in shown])


def plan(
    mods: IPublicMods, want: Mapping[str, str], have: Mapping[str, InstalledEntry], *, has_reasons: bool
) -> PlanDocument:
    """Plan an installation. Three statements, and three more for installed mods that nothing wanted requires."""
    related = mods.get_chains(want)
    others = [guid for guid in have if guid not in related]
    if others:
        related = {**mods.get_related(others), **related}
    return make_plan(want, have, related, mods.order, has_reasons=has_reasons)


def check_lock(mods: IPublicMods, entries: Mapping[str, InstalledEntry]) -> LockStateDocument:
    """Return the state of each entry of a lock."""
    files = mods.get_files(entries)
    return LockStateDocument(
        [EntryState(entry.guid, _state(entry, files.get(guid))) for guid, entry in entries.items()]
    )


def _compose_lookup(mods: IPublicMods, shown: list[StoredDocument], rest: bytes) -> ComposedBody:
    """The body with these mods, and the other fields of the answer, which are encoded already."""
    begin, end = b'{"mods":[', b"]," + rest[1:]
    size = len(begin) + sum(mod.size for mod in shown) + max(0, len(shown) - 1) + len(end)

    def parts() -> Iterator[bytes]:
        yield begin
        for number, document in enumerate(mods.documents(shown)):
            yield b"," + document if number else document
        yield end

    return ComposedBody("", size, parts)


def _state(entry: InstalledEntry, file: PublicFile | None) -> str:
    if file is None:
        return "gone"
    return "same" if entry.has(file.version, file.sha256) else "replaced"


def _changed_mod(file: PublicFile, installed: InstalledEntry, notes: list[PublicNote]) -> ChangedMod:
    newer = []
    for note in notes:
        if note.version == installed.version or note.sha256 == installed.sha256:
            break
        newer.append(note.document)
    return ChangedMod(**file._asdict(), changelog=newer)


def _change_document(entry: ChangeEntry) -> ChangeDocument:
    document = ChangeDocument(entry.serial, entry.kind, entry.what, iso(entry.at))
    if entry.kind == MOD:
        document.guid = entry.key
        if entry.what != What.DELETED and entry.mod_id is not None:
            document.id = entry.mod_id
    return document
