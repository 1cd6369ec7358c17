"""Lock files: canonical JSON with the GUID, the version and the SHA-256 of every mod, and a digest over all."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modhub_client.names import is_sha256, parse_guid
from modhub_client.output import WrongUse


@dataclass(frozen=True, slots=True)
class LockEntry:
    """A mod, and exactly which file of it."""

    guid: str
    version: str
    sha256: str


def build_lock(entries: Iterable[LockEntry]) -> dict[str, Any]:
    """The lock of these mods, in the order of their GUIDs."""
    listed = [
        {"guid": entry.guid, "sha256": entry.sha256, "version": entry.version}
        for entry in sorted(entries, key=lambda entry: entry.guid)
    ]
    return {"digest": _digest(listed), "entries": listed}


def write_lock(entries: Iterable[LockEntry]) -> str:
    """The text of a lock file: the same mods always make the same bytes."""
    return _canonical(build_lock(entries)) + "\n"


def parse_lock(lock: Any) -> list[LockEntry]:
    """The entries of a lock; ``ValueError`` with a sentence if it is none or has been changed."""
    if not isinstance(lock, dict) or not isinstance(lock.get("entries"), list):
        raise ValueError("This is not a lock: it has no list of entries.")
    entries = [_entry(entry) for entry in lock["entries"]]
    if lock.get("digest") != _digest(lock["entries"]):
        raise ValueError("The lock does not match its own digest: it has been changed or damaged.")
    if len({entry.guid for entry in entries}) < len(entries):
        raise ValueError("The lock names a GUID twice.")
    return entries


def read_lock(file: Path) -> list[LockEntry]:
    """The entries of a lock file."""
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise WrongUse(f"{file} cannot be read: {problem}.") from None
    try:
        return parse_lock(json.loads(text))
    except (json.JSONDecodeError, RecursionError):
        raise WrongUse(f"{file} is not a lock.") from None
    except ValueError as problem:
        raise WrongUse(f"{file}: {problem}") from None


def _entry(entry: Any) -> LockEntry:
    if not isinstance(entry, dict):
        raise ValueError("An entry of the lock is not an object.")
    guid, version, sha256 = (entry.get(name) for name in ("guid", "version", "sha256"))
    parsed = parse_guid(guid) if isinstance(guid, str) else None
    if parsed is None or not isinstance(version, str) or not isinstance(sha256, str) or not is_sha256(sha256):
        raise ValueError("An entry of the lock lacks a GUID, a version or a SHA-256.")
    return LockEntry(parsed, version, sha256)


def _digest(entries: list[Any]) -> str:
    return hashlib.sha256(_canonical(entries).encode()).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
