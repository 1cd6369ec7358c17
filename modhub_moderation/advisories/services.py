"""Making and withdrawing advisories, and where the files are that they are about. The session comes first.

An advisory is about bytes, not about a mod: a library that many mods have is advised for all of them. So who
decides sees where else a file is (:func:`find_occurrences`), and names each digest.
"""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import invalid
from modhub.content import text
from modhub.db import bulk, now
from modhub.db.changes import What, mark_changed
from modhub.plugins.moderation import FileRecord, IFileDigests
from modhub.plugins.services import IMods, ModSummary
from modhub_moderation.advisories.models import (
    ADVICE,
    ADVISORY_REASON,
    EMPTY_FILE,
    PREFIX_DIGITS,
    Advisory,
    AdvisoryKind,
    clean_sha256,
)

ADVISORIES: Final = "advisories"
"""Of the serial alone: kept answers end, and no list of changes has an entry."""
_BATCH: Final = 100
"""Mods that :class:`IMods` looks up in one statement."""


class Occurrence(NamedTuple):
    """A place where a file is or was. ``mod`` is None for a build, an icon, a picture, or a mod that was deleted."""

    mod: ModSummary | None
    kind: str
    """As :class:`FileRecord` says it; ``other`` without a mod."""
    name: str
    """Of the file; its version if it was replaced; without a mod what it is, in the operator's words."""


class AdvisableFile(NamedTuple):
    """A file that a mod has or had, for the one who decides about the mod."""

    file: FileRecord
    others: list[Occurrence]
    """Where else it is; an advisory is for all of them."""
    advisory: Advisory | None
    """The one that stands already."""


def create_advisories(
    session: Session,
    digests: Iterable[str],
    *,
    kind: AdvisoryKind,
    reason: str,
    advice: str,
    decision_id: int | None = None,
) -> list[str]:
    """Make an advisory for each of these digests, and return those that had none that stands (C-ADV-1).

    One that was withdrawn stands again, as a new one. One that stands stays as it is. 400 for a digest that is none,
    that of the empty file, and for a text that is empty or too long.
    """
    chosen = sorted({_digest(digest) for digest in digests})
    reason, advice = _text(reason, ADVISORY_REASON), _text(advice, ADVICE)
    known = _lock(session, Advisory.sha256.in_(chosen))
    made, time = [], now()
    for sha256 in chosen:
        advisory = known.get(sha256)
        if advisory is not None and advisory.withdrawn_at is None:
            continue
        if advisory is None:
            advisory = Advisory(sha256=sha256, prefix=sha256[:PREFIX_DIGITS])
            session.add(advisory)
        advisory.kind, advisory.reason, advisory.advice = kind, reason, advice
        advisory.since = advisory.changed_at = time
        advisory.withdrawn_at, advisory.decision_id = None, decision_id
        record(session, "advisory added", "advisory", sha256, kind=kind, decision=decision_id)
        made.append(sha256)
    if made:
        session.flush()
        mark_changed(session, ADVISORIES, What.EDITED)
    return made


def withdraw_advisories(session: Session, digests: Collection[str]) -> list[str]:
    """Withdraw those of these advisories that stand, and return their digests (C-ADV-1)."""
    return _withdraw(session, Advisory.sha256.in_([digest.lower() for digest in digests]))


def withdraw_advisories_of(session: Session, decision_ids: Collection[int]) -> list[str]:
    """Withdraw what these decisions have made, because they were undone; return the digests."""
    return _withdraw(session, Advisory.decision_id.in_(decision_ids))


def _withdraw(session: Session, which: ColumnElement[bool]) -> list[str]:
    standing = _lock(session, which & Advisory.withdrawn_at.is_(None))
    time = now()
    for sha256, advisory in standing.items():
        advisory.withdrawn_at = advisory.changed_at = time
        record(session, "advisory withdrawn", "advisory", sha256)
    if standing:
        session.flush()
        mark_changed(session, ADVISORIES, What.EDITED)
    return list(standing)


def _lock(session: Session, which: ColumnElement[bool]) -> dict[str, Advisory]:
    """In the order of the digests, so that no two transactions wait for each other."""
    statement = select(Advisory).where(which).order_by(Advisory.sha256).with_for_update()
    fresh = statement.execution_options(populate_existing=True)
    return {advisory.sha256: advisory for advisory in session.scalars(fresh)}


def _digest(value: str) -> str:
    digest = clean_sha256(value)
    if digest is None:
        raise invalid("A SHA-256 has 64 hexadecimal digits.")
    if digest == EMPTY_FILE:
        raise invalid("This is the SHA-256 of an empty file.")
    return digest


def _text(value: str, most: int) -> str:
    cleaned = text.line(value, most + 1)
    if not cleaned:
        raise invalid("Say what is known of the file, and what to do.")
    if len(cleaned) > most:
        raise invalid("Reason and advice have at most %(most)s characters each.", most=most)
    return cleaned


def find_occurrences(
    session: Session, mods: IMods, files: IFileDigests, digests: Collection[str]
) -> dict[str, list[Occurrence]]:
    """Where the files with these digests are: by digest, mods first; digests that are nowhere are left out.

    Drafts and hidden mods too: it is for moderators and the operator.
    """
    places = files.find(session, digests)
    summaries: dict[int, ModSummary] = {}
    for ids in bulk.batches(sorted({file.mod_id for file in places}), _BATCH):
        summaries |= mods.get_mods(session, ids)
    occurrences: dict[str, list[Occurrence]] = {}
    for file in places:
        mod = summaries.get(file.mod_id)
        kind, name = (
            (file.kind, file.name) if mod else ("other", f"{file.name} of mod {file.mod_id}, which was deleted")
        )
        occurrences.setdefault(file.sha256, []).append(Occurrence(mod, kind, name))
    for sha256, names in files.find_others(session, digests).items():
        occurrences.setdefault(sha256, []).extend(Occurrence(None, "other", name) for name in names)
    return occurrences


def find_standing(session: Session, digests: Collection[str]) -> dict[str, Advisory]:
    """The advisories that stand about files with these digests, by digest."""
    standing = select(Advisory).where(Advisory.sha256.in_(digests), Advisory.withdrawn_at.is_(None))
    return {advisory.sha256: advisory for advisory in session.scalars(standing)}


def list_advisable(session: Session, mods: IMods, files: IFileDigests, mod_id: int) -> list[AdvisableFile]:
    """The files that a mod has and had, each digest once, with where else they are and what is known already."""
    own = {file.sha256: file for file in reversed(files.of_mods(session, [mod_id]))}
    places = find_occurrences(session, mods, files, list(own))
    advisories = find_standing(session, own)
    return [
        AdvisableFile(
            file,
            [place for place in places.get(sha256, ()) if place.mod is None or place.mod.id != mod_id],
            advisories.get(sha256),
        )
        for sha256, file in reversed(own.items())
    ]
