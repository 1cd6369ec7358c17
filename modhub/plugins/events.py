"""The events of the core, for subscribers (``config.add_subscriber``)."""

from dataclasses import dataclass, field
from typing import Any

from modhub.plugins.moderation import IUploadInspection


@dataclass(frozen=True, slots=True)
class ApplicationStarted:
    """An application is about to be served; commands and tests that only configure one do not fire it.

    The place to start background work.
    """

    registry: Any


@dataclass(frozen=True, slots=True)
class AccountDeleted:
    """An account is being deleted, in the transaction of ``session``; delete what it owned (C-ACC-18)."""

    account_id: int
    session: Any
    registry: Any


@dataclass(frozen=True, slots=True)
class ModDetailsSaving:
    """The form of a mod's details is being saved, in the transaction of ``request.dbsession``, after its own fields.

    It has the fields of the panels ``details``, too. A subscriber stores its own, or adds to ``errors`` a message for
    each that it refuses: then nothing of the form is saved, and the panels get the messages.
    """

    mod_id: int
    request: Any
    errors: dict[str, str]


@dataclass(frozen=True, slots=True)
class ModPublishing:
    """A mod is about to be published by its owner, in the transaction of ``session``.

    A subscriber raises an :class:`modhub.base.errors.ApiError` for which it stays a draft. The mod is locked, and has a
    code file. Fired for hidden mods as well.
    """

    mod_id: int
    session: Any
    registry: Any


@dataclass(frozen=True, slots=True)
class ModPublished:
    """The owner has published a mod, now visible to everybody, in the transaction of ``session``.

    Fired once in the life of a mod. A mod that is hidden while its owner publishes it fires :class:`ModChanged`
    instead, so a subscriber that announces new mods never announces a hidden one.
    """

    mod_id: int
    session: Any
    registry: Any


@dataclass(frozen=True, slots=True)
class ModChanged:
    """The fields, files or changelog of a mod, published or not, have changed, in the transaction of ``session``.

    Hiding or restoring a mod fires it too; votes do not. It can be fired more than once in a transaction. Use
    :class:`modhub.plugins.services.IMods` for the current state of the mod.
    """

    mod_id: int
    session: Any
    registry: Any
    version: str = ""
    """The new version of a mod that was published before, hidden or not; empty for every other change."""


@dataclass(frozen=True, slots=True)
class UploadStarted:
    """A request is about to stage a file, before the first statement of its session.

    A subscriber raises an :class:`modhub.base.errors.ApiError` to refuse it, or appends to ``inspections`` what shall
    see the file and may still refuse it. Not fired for what the operator's commands store.
    """

    request: Any
    inspections: list[IUploadInspection] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ModsDeleted:
    """Mods are being deleted, in the transaction of ``session``; delete what depends on them (C-OWN-11).

    By their owner, by an operator, or with their owner's account. The mods still exist and are locked. There are at
    most :data:`modhub.db.bulk.BATCH` of them; a larger deletion fires the event more than once.
    """

    mod_ids: tuple[int, ...]
    session: Any
    registry: Any


@dataclass(frozen=True, slots=True)
class DownloadStarted:
    """Somebody is about to get the code file of a published mod, or a range of it, from this process or from a proxy.

    Not fired for HEAD, for 304, 412 and 416, or for the owner's own view of a draft. There is no transaction, and the
    answer waits: keep what you need in memory, and raise nothing. Nobody can tell how much of the file will arrive.
    """

    mod_id: int
    asset_id: int
    version: str
    """The version of the file."""
    caller: str
    """The IPv4 address or the /64 of an IPv6 address that calls, as the server determined it."""
    first_byte: int
    """Where the answer begins: 0 for the whole file and for a first range."""
    status: int
    """200, or 206 for a range."""
    length: int
    """How many bytes of the file the answer has."""
    size: int
    """How many bytes the whole file has."""
    registry: Any


@dataclass(frozen=True, slots=True)
class DatabaseRestored:
    """A backup has been restored into this database, in the transaction of ``session``; no request has seen it yet.

    End what must not come back to life, such as sessions, and hold what must not happen twice, such as emails.
    ``previous_base_url`` is the setting ``modhub.base_url`` of the installation that was backed up. Append sentences
    for the operator to ``notes``.
    """

    session: Any
    registry: Any
    previous_base_url: str
    notes: list[str] = field(default_factory=list)
