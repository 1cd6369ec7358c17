"""Response bodies of following the catalogue."""

from typing import Annotated, Any

from msgspec import UNSET, Raw, Struct, UnsetType

from modhub.base.operations import documented_as


class LookupRest(Struct):
    """``POST /api/modhub/lookup`` without its ``mods``, which come first: GUIDs as sent."""

    missing: list[str]
    more: list[str] | UnsetType = UNSET


class LookupDocument(LookupRest, kw_only=True):
    """``POST /api/modhub/lookup``, for its description: the body is composed of stored documents."""

    mods: list[Annotated[Raw, documented_as("ModDocument")]]


class ChangedMod(Struct):
    """A mod whose code file is another than the caller's."""

    guid: str
    id: int
    version: str
    bytes: int
    sha256: str
    url: str
    changelog: list[Annotated[Any, documented_as("NoteDocument")]]


class RelationsDocument(Struct):
    """The digest of what a mod requires and excludes."""

    guid: str
    relations: str


class UpdatesDocument(Struct, rename="camel"):
    """``POST /api/modhub/updates``; the last two only for callers that sent ``relations``."""

    changed: list[ChangedMod]
    gone: list[str]
    same: int
    relations_changed: list[str] | UnsetType = UNSET
    relations: list[RelationsDocument] | UnsetType = UNSET


class ChangeDocument(Struct):
    """A change; ``guid`` and ``id`` only of mods, and no ``id`` once it is deleted."""

    serial: int
    kind: str
    what: str
    at: str
    guid: str | UnsetType = UNSET
    id: int | UnsetType = UNSET


class ChangesDocument(Struct):
    """``GET /api/modhub/changes``; ``serial`` is the next ``since``."""

    feed: str
    serial: int
    more: bool
    changes: list[ChangeDocument]


class SnapshotDocument(Struct):
    """``GET /api/modhub/snapshot``; ``signature`` is over the other fields."""

    serial: int
    feed: str
    url: str
    bytes: int
    sha256: str
    signature: str | None = None


class PublicKeyDocument(Struct, rename="camel"):
    """``GET /api/modhub/snapshot/key``"""

    algorithm: str
    public_key: str


class PathDocument(Struct, kw_only=True, gc=False):
    """A mod and why it is in a plan: the path from a wanted mod to the one that requires it; ``depth`` if it is cut.

    Both are absent from a plan without reasons.
    """

    guid: str
    because: list[str] | UnsetType = UNSET
    depth: int | UnsetType = UNSET


class StepDocument(PathDocument, kw_only=True, gc=False):
    """A step of a plan: ``install``, ``update`` or ``keep``; ``relations`` is the digest of an update check."""

    action: str
    relations: str


class ExcludingDocument(PathDocument, kw_only=True, gc=False):
    """One mod of a pair; ``excludes``: it names the other one. Without a title if it is not published."""

    title: str | None
    excludes: bool


class ConflictDocument(Struct):
    """Two mods of which at least one excludes the other."""

    pair: list[ExcludingDocument]


class MissingDocument(Struct, rename="camel"):
    """A GUID that is not published, and the mods that require it."""

    guid: str
    required_by: list[str]


class LockEntryDocument(Struct, gc=False):
    """Exactly one file of a mod. The fields are in the order of canonical JSON."""

    guid: str
    sha256: str
    version: str


class LockDocument(Struct):
    """A lock; ``digest`` is the SHA-256 of ``entries``, the canonical JSON of a list of `LockEntryDocument`."""

    digest: str
    entries: Annotated[Raw, documented_as("LockEntryDocument", many=True)]


class PlanDocument(Struct, rename="camel"):
    """``POST /api/modhub/plan``; ``bytes`` is what has to be downloaded."""

    steps: list[StepDocument]
    conflicts: list[ConflictDocument]
    conflicts_total: int
    missing: list[MissingDocument]
    bytes: int
    lock: LockDocument


class EntryState(Struct):
    """An entry of a lock: ``same``, ``replaced`` or ``gone``."""

    guid: str
    state: str


class LockStateDocument(Struct):
    """``POST /api/modhub/plan/check``"""

    entries: list[EntryState]
