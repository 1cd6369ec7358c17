"""An installation: a folder with a file for each mod, and the state that says which they are.

    DIR/{guid}/{name}              the files
    DIR/.modhub-get/state.json     what is installed, and from where
    DIR/.modhub-get/parts/         downloads that are not complete or not in place yet
    DIR/.modhub-get/edited/        copies of files that their user had edited, before they were replaced
    DIR/.modhub-get/before/        the files that the last update replaced or removed
    DIR/.modhub-get/journal.json   exists while files are being put in place

Everything is downloaded and checked first. Then the journal is written, the files are moved into place, the state is
written, the journal is deleted. A run that finds a journal finishes it, so the folder is whole wherever a run ended.
"""

import contextlib
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from modhub_client.get import folder
from modhub_client.get.outcome import ExitCode
from modhub_client.names import clean_name, is_sha256, parse_guid
from modhub_client.output import ClientError, WrongUse

PRIVATE: Final = ".modhub-get"
PART_KEPT: Final = 7 * 24 * 3600.0
"""Seconds after which no run continues a download."""
STATE_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class LocalMod:
    """An installed mod. ``wanted``: somebody asked for it, otherwise another mod requires it."""

    guid: str
    id: int
    title: str
    version: str
    sha256: str
    bytes: int
    name: str
    requires: tuple[str, ...]
    wanted: bool


@dataclass(frozen=True, slots=True)
class InstallationState:
    """The service and the installed mods by GUID. ``before``: what ``undo`` puts back, kept by `ModInstallation`."""

    url: str = ""
    mods: Mapping[str, LocalMod] = field(default_factory=dict)
    before: Mapping[str, LocalMod] = field(default_factory=dict)


class ModInstallation:
    """The installation in ``root``, while its lock is held (:func:`open_installation`)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._private = folder.own_directory(root / PRIVATE)
        self._parts = folder.own_directory(self._private / "parts")
        self._journal = self._private / "journal.json"
        self.state = InstallationState()
        self.copies: list[tuple[LocalMod, Path]] = []
        """Copies of files that their user had edited, made in this run."""

    def load(self) -> None:
        """Finish what an earlier run began, and read the state."""
        journal = folder.load_json(self._journal)
        if journal is not None:
            self._finish(*_parse_journal(journal))
        else:
            self.state = parse_state(folder.load_json(self._private / "state.json"))

    def path_of(self, mod: LocalMod) -> Path:
        """Where the file of a mod is."""
        return self.root / mod.guid / mod.name

    def describe(self, mod: LocalMod) -> Mapping[str, Any]:
        """An installed mod as a JSON object."""
        return {
            "guid": mod.guid,
            "id": mod.id,
            "title": mod.title,
            "version": mod.version,
            "sha256": mod.sha256,
            "bytes": mod.bytes,
            "path": str(self.path_of(mod)),
        }

    def part_of(self, guid: str, sha256: str) -> Path:
        """Where a file of a mod is collected. It has its own name, so a later run can continue with it."""
        return self._parts / f"{guid}.{sha256}"

    def is_intact(self, mod: LocalMod) -> bool:
        """Whether the mod's file is there with the right bytes."""
        path = self.path_of(mod)
        if not folder.is_plain_directory(path.parent):
            return False
        try:
            with folder.open_regular(path, create=False) as file:
                return folder.size_of(file) == mod.bytes and folder.hash_file(file) == mod.sha256
        except (ClientError, OSError):
            return False

    def check_places(self, mods: list[LocalMod]) -> None:
        """Refuse to begin if a file could not be put in place."""
        for mod in mods:
            folder.own_directory(self.root / mod.guid)
            if folder.is_plain_directory(self.path_of(mod)):
                raise ClientError(ExitCode.FOLDER, f"{self.path_of(mod)} is a folder.")

    def kept_file(self, mod: LocalMod) -> Path:
        """Where the file that an update replaced is kept."""
        return self._private / "before" / f"{mod.guid}.{mod.sha256}"

    def _keep_before(self, state: InstallationState, updated: Mapping[str, LocalMod] | None) -> dict[str, LocalMod]:
        """What can be put back after the change to ``state``: by an update its own, else what the change leaves alone.

        A file that its user has edited or damaged cannot be put back.
        """
        kept: dict[str, LocalMod] = {}
        for guid, mod in (updated or {}).items():
            if not _same_file(mod, state.mods.get(guid)):
                if self.is_intact(mod):
                    folder.keep_copy(self.path_of(mod), self.kept_file(mod))
                if self.kept_file(mod).exists():
                    kept[guid] = mod
        present = self.state.mods
        return kept or {
            guid: mod for guid, mod in self.state.before.items() if _same_file(present.get(guid), state.mods.get(guid))
        }

    def prepare_kept(self, mods: list[LocalMod]) -> None:
        """Put the kept files of these mods into their parts, as if they had been downloaded; none is believed."""
        for mod in mods:
            kept = self.kept_file(mod)
            with folder.open_regular(kept, create=False) as file:
                if folder.hash_file(file) != mod.sha256:
                    raise ClientError(ExitCode.FOLDER, f"{kept} is damaged. Nothing was changed.")
            folder.keep_copy(kept, self.part_of(mod.guid, mod.sha256))

    def _clear_before(self) -> None:
        kept = {self.kept_file(mod) for mod in self.state.before.values()}
        with contextlib.suppress(OSError):
            for file in (self._private / "before").iterdir():
                if file not in kept:
                    file.unlink()

    def apply(
        self, state: InstallationState, placed: list[LocalMod], updated: Mapping[str, LocalMod] | None = None
    ) -> None:
        """Make ``state`` the installation. The files of ``placed`` are complete in their parts.

        ``updated``: the mods before the update that this is a part of, to which ``undo`` then leads.
        """
        self.check_places(placed)
        state = replace(state, before=self._keep_before(state, updated))
        kept = {self.path_of(mod) for mod in state.mods.values()}
        old = [mod for mod in self.state.mods.values() if self.path_of(mod) not in kept]
        self._keep_edited([*placed, *old])
        moves = [{"guid": mod.guid, "sha256": mod.sha256, "name": mod.name} for mod in placed]
        deletions = [{"guid": mod.guid, "name": mod.name} for mod in old]
        journal = {"state": _dump_state(state), "moves": moves, "deletions": deletions}
        folder.replace_text(self._journal, json.dumps(journal))
        self._finish(state, moves, deletions)
        self._clear_before()

    def _keep_edited(self, replaced: list[LocalMod]) -> None:
        for mod in replaced:
            installed = self.state.mods.get(mod.guid, mod)
            into = self._private / "edited" / mod.guid
            copy = folder.keep_edited(self.path_of(mod), {mod.sha256, installed.sha256}, into)
            if copy is not None:
                self.copies.append((mod, copy))

    def clear_parts(self, *, older_than: float = math.inf) -> None:
        """Delete downloads that nothing will continue; with ``older_than`` only those that began before that time."""
        if self._journal.exists():
            # It moves them into place.
            return
        for part in self._parts.iterdir():
            with contextlib.suppress(OSError):
                if part.lstat().st_mtime < older_than:
                    part.unlink()

    def clear_leftovers(self) -> None:
        """Delete what runs that were killed have left: old downloads, and files that were being written."""
        self.clear_parts(older_than=time.time() - PART_KEPT)
        for name in ("state", "journal"):
            for file in self._private.glob(f".{name}.json.*"):
                with contextlib.suppress(OSError):
                    file.unlink()

    def remove_empty_places(self, mods: list[LocalMod]) -> None:
        """Undo `check_places` for a run that puts nothing in place, and drop downloads of which nothing has arrived."""
        for mod in mods:
            part = self.part_of(mod.guid, mod.sha256)
            with contextlib.suppress(OSError):
                if not part.lstat().st_size:
                    part.unlink()
            with contextlib.suppress(OSError):
                (self.root / mod.guid).rmdir()

    def remove_if_unused(self) -> None:
        """Remove our own folder, if it has nothing that a later run needs."""
        if (self._private / "state.json").exists() or self._journal.exists():
            return
        with contextlib.suppress(OSError):
            self._parts.rmdir()
            (self._private / "lock").unlink()
            self._private.rmdir()

    def _finish(self, state: InstallationState, moves: list[Any], deletions: list[Any]) -> None:
        for move in moves:
            part = self.part_of(move["guid"], move["sha256"])
            # Otherwise an earlier run has moved it already.
            if part.exists():
                folder.move_into_place(part, folder.own_directory(self.root / move["guid"]) / move["name"])
        names = {mod.guid: mod.name for mod in state.mods.values()}
        for deletion in deletions:
            place = self.root / deletion["guid"]
            new_name = names.get(deletion["guid"], deletion["name"])
            if not folder.rename_same_file(place / deletion["name"], place / new_name):
                folder.delete_file(place / deletion["name"])
        folder.replace_text(self._private / "state.json", json.dumps(_dump_state(state), indent=1) + "\n")
        self._journal.unlink(missing_ok=True)
        folder.sync_directory(self._private)
        self.state = state


@contextlib.contextmanager
def open_installation(root: Path, *, create: bool) -> Iterator[ModInstallation]:
    """The installation in ``root``, for this run alone. Without ``create`` there must be one."""
    if not create and not folder.is_plain_directory(root / PRIVATE):
        raise WrongUse(f"Nothing was installed into {root}.")
    absent = [path for path in (root, *root.parents) if not path.exists()]
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise folder.local_problem(problem) from None
    installation = ModInstallation(root)
    try:
        with _locked(installation):
            yield installation
    finally:
        # A run that installed nothing leaves no folders, or only those that were there.
        for path in absent:
            with contextlib.suppress(OSError):
                path.rmdir()


@contextlib.contextmanager
def _locked(installation: ModInstallation) -> Iterator[None]:
    with folder.exclusive_lock(installation.root / PRIVATE / "lock"):
        try:
            installation.load()
            installation.clear_leftovers()
            yield
        finally:
            installation.remove_if_unused()
    if sys.platform == "win32":
        # There no file is deleted while it is open.
        installation.remove_if_unused()


def parse_state(document: Any) -> InstallationState:
    """The state as it was written; it is checked, since its names become paths."""
    if document is None:
        return InstallationState()
    try:
        if document["format"] != STATE_FORMAT:
            raise ClientError(ExitCode.FOLDER, "The state of this folder was written by another version of modhub-get.")
        mods = [_parse_mod(mod) for mod in document["mods"]]
        before = [_parse_mod(mod) for mod in document.get("before", ())]
        return InstallationState(
            str(document["url"]), {mod.guid: mod for mod in mods}, {mod.guid: mod for mod in before}
        )
    except (KeyError, TypeError, ValueError):
        raise ClientError(ExitCode.FOLDER, "The state of this folder is damaged.") from None


def _parse_mod(document: Any) -> LocalMod:
    mod = LocalMod(**{**document, "requires": tuple(map(str, document["requires"]))})
    if parse_guid(mod.guid) != mod.guid or not is_sha256(mod.sha256) or clean_name(mod.name) != mod.name:
        raise ValueError(mod.guid)
    return mod


def _parse_journal(document: Any) -> tuple[InstallationState, list[Any], list[Any]]:
    try:
        moves, deletions = list(document["moves"]), list(document["deletions"])
        for entry in (*moves, *deletions):
            if parse_guid(entry["guid"]) != entry["guid"] or clean_name(entry["name"]) != entry["name"]:
                raise ValueError(entry)
        if not all(is_sha256(move["sha256"]) for move in moves):
            raise ValueError(moves)
        return parse_state(document["state"]), moves, deletions
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ClientError(ExitCode.FOLDER, "The journal of this folder is damaged.") from None


def _dump_state(state: InstallationState) -> dict[str, Any]:
    mods = [asdict(state.mods[guid]) for guid in sorted(state.mods)]
    before = [asdict(state.before[guid]) for guid in sorted(state.before)]
    return {"format": STATE_FORMAT, "url": state.url, "mods": mods, "before": before}


def _same_file(one: LocalMod | None, other: LocalMod | None) -> bool:
    return (one and (one.sha256, one.name)) == (other and (other.sha256, other.name))
