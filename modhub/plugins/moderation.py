"""The services for those who judge mods and accounts: decisions, files by digest, blocking, inspection."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from modhub.blobs.store import Blob
from modhub.plugins.declarations import RemovablePart
from modhub.plugins.services import ModSummary


class FileRecord(NamedTuple):
    """A file that a mod has, that a moderator took out of it, or that its changelog names: for those who judge mods."""

    mod_id: int
    kind: str
    """``code``, ``css`` or ``image``; ``former``: a code file that a changelog entry names and that was replaced."""
    name: str
    """Empty for what a changelog entry names; of a former file its version."""
    version: str
    """Of the changelog entry; empty for a file that is stored."""
    bytes: int
    sha256: str
    asset_id: int | None
    """The number of ``/Modhub/file/{assetId}``; None for a file that is kept aside, and for an entry."""


class IFileDigests(Protocol):
    """Knows where a file is, by its SHA-256 in lower case; of drafts and hidden mods too.

    It is for those who judge mods: what it returns is not for everybody.
    """

    def of_mods(self, session: Any, mod_ids: Collection[int]) -> list[FileRecord]:
        """The files of these mods: those that they have, those that are kept aside, then former ones, newest first."""

    def find(self, session: Any, digests: Collection[str]) -> list[FileRecord]:
        """The mods that have or had a file with one of these digests, by their ids."""

    def find_others(self, session: Any, digests: Collection[str]) -> dict[str, list[str]]:
        """What else is such a file: a build, an icon, a picture; sentences for the operator by digest."""


class IModPreviews(Protocol):
    """Shows a mod to those who judge it, drafts and hidden ones too, as its owner's preview does.

    The caller has asked whether they may; what it returns is for responses that no cache keeps. 404 for what is gone.
    """

    def show_page(self, request: Any, mod: ModSummary, address: str, back: str) -> Any:
        """The response with the mod's page, whose path is ``{address}/preview``, without what features show on it.

        Its images lead to ``{address}/images/{assetId}``; ``back`` is the path of the page before.
        """

    def find_image(self, session: Any, mod: ModSummary, asset_id: int | None) -> Any:
        """An image of the mod, to be shown: a :class:`modhub.web.downloads.StoredFile`."""

    def find_file(self, session: Any, mod: ModSummary, sha256: str) -> Any:
        """The same for a file that the mod has, or that is kept aside of it, as an attachment."""


class IModeration(Protocol):
    """The service for decisions about mods, in the transaction of the decision.

    What is done is in the audit trail, as done by the caller of the request. Mods that do not exist are left out.
    """

    files: IFileDigests
    previews: IModPreviews

    @property
    def parts(self) -> Mapping[str, RemovablePart]:
        """What can be removed and restored, by name, once all features are included: ``image``, ``changelog`` …"""

    def lock(self, session: Any, mod_ids: Collection[int]) -> list[int]:
        """Lock mods until the transaction ends, as what is decided here does; the ids of those that exist.

        They are locked in the order of their ids. So lock all that a decision may concern by one call.
        """

    def hide(self, session: Any, mod_ids: Collection[int], reason: str, at: datetime | None = None) -> list[int]:
        """Hide mods from everybody but their owners, as ``mod hide`` does; the ids of those that were not hidden.

        ``reason`` replaces an earlier one, ``at`` (else now) is the moment by which ``release`` knows them.
        Nothing but ``release`` and ``mod restore`` makes a hidden mod visible.
        """

    def hide_of_accounts(self, session: Any, account_ids: Collection[int], at: datetime) -> list[int]:
        """Hide all mods of these accounts that are not hidden yet; the ids of those, which are hidden since ``at``."""

    def release(self, session: Any, mod_ids: Collection[int], since: Collection[datetime] | None = None) -> list[int]:
        """Undo ``hide``; the ids of those that were hidden, with ``since`` at one of these moments.

        A draft stays a draft.
        """

    def delete(self, session: Any, mod_ids: Collection[int], keep_until: datetime | None = None) -> list[int]:
        """Delete mods permanently; the ids of those that existed.

        With ``keep_until`` they are kept until then, seen by nobody.
        """

    def get_files(self, session: Any, mod_ids: Collection[int]) -> dict[int, list[FileRecord]]:
        """The files of each of these mods: those that are shown, those kept aside, then its changelog's, newest first.

        Where else they are says :class:`IFileDigests`.
        """


class IUploadInspection(Protocol):
    """Looks at one file that an account uploads, while it is staged (:class:`modhub.plugins.events.UploadStarted`)."""

    def see(self, chunk: bytes) -> None:
        """Take the next bytes of the file, in order. Raises nothing: what goes wrong is told by ``finish``."""

    def finish(self, blob: Blob) -> None:
        """The file is staged as ``blob``, and nothing of it is committed. Raises what the sender is told.

        Rows belong in the session of the request, by ``session.add`` alone: its first statement comes later.
        """

    def close(self) -> None:
        """The end, whether or not the file was staged."""


class IReportForms(Protocol):
    """The service that knows where readers report what they see; absent without such a feature."""

    def mod_address(self, mod_id: int) -> str:
        """The path of the form for a mod and its images."""


class IQuotas(Protocol):
    """The service that knows what an account may keep and send; absent without limits.

    Both raise the :class:`modhub.base.errors.ApiError` of what goes beyond. What the operator's commands store is not
    asked.
    """

    def refuse_upload(self, account_id: int) -> None:
        """Called before a file of a mod is read, and without a transaction: it may be called twice for one file.

        Not for forms, whose file is there already, and not for calls that may be repeated: `take` decides.
        """

    def take(self, session: Any, account_id: int, mod_id: int | None, size: int = 0, replaced: int = 0) -> None:
        """Called in the transaction that stores a file of ``size`` bytes in place of one of ``replaced`` bytes.

        The mod is locked. Without ``mod_id`` the account makes a new mod.
        """
