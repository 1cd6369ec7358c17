"""What is known about scans: files that wait, and what was found. Functions over a session."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import BigInteger, Select, String, delete, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from modhub.base.errors import conflict
from modhub.blobs import Blob
from modhub.blobs.models import StoredBlob
from modhub.content import text
from modhub.content.text import N_
from modhub.db import Base, Id, Timestamp, now
from modhub.plugins.events import AccountDeleted, ModPublishing, ModsDeleted

RULE_NAME: Final = 200
"""Characters kept of the name of a rule."""


class WaitingFile(Base):
    """A file of a draft that was accepted while the scanner was down; the row goes when the scanner finds it clean."""

    __tablename__ = "moderation_waiting_file"

    blob_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    mod_id: Mapped[int] = mapped_column(Id, index=True)
    since: Mapped[datetime] = mapped_column(Timestamp)
    rule: Mapped[str | None] = mapped_column(String(RULE_NAME))
    """What the scanner found in it later: it has to be replaced before the mod can be published."""


class ScanHit(Base):
    """What the scanner found: for moderators, who alone see the rule. Ids are NULL once what they name is deleted."""

    __tablename__ = "moderation_scan_hit"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    account_id: Mapped[int | None] = mapped_column(Id, index=True)
    mod_id: Mapped[int | None] = mapped_column(Id, index=True)
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    size: Mapped[int] = mapped_column(BigInteger)
    rule: Mapped[str] = mapped_column(String(RULE_NAME))
    times: Mapped[int] = mapped_column(default=1)
    """How often the account has sent the file."""
    last_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


HIT_DAYS: Final = 180
"""What the scanner found is deleted so long after it was last sent."""
NOT_SCANNED: Final = N_("A file of this mod has not been scanned for malware yet. Try again in a few minutes.")
FOUND_LATER: Final = N_("The malware scanner has found something in a file of this mod. Replace or remove the file.")


class ScannedUpload(NamedTuple):
    """Who sent which file, for which mod."""

    account_id: int
    mod_id: int | None
    sha256: str
    size: int


def add_waiting_file(session: Session, mod_id: int, blob: Blob) -> None:
    """Let the file of a draft wait for the scanner; its row is written with the session's next flush."""
    session.add(WaitingFile(blob_key=blob.key, mod_id=mod_id, since=now()))
    session.info[WaitingFile] = mod_id


def adds_waiting_file(session: Session, mod_id: int) -> bool:
    """Whether this session lets a file of the mod wait."""
    return session.info.get(WaitingFile) == mod_id


def _waiting(mod_id: int) -> Select[WaitingFile]:
    """The files that wait, without those that the mod no longer has."""
    stored = select(StoredBlob.id).where(StoredBlob.key == WaitingFile.blob_key, StoredBlob.trashed_at.is_(None))
    return select(WaitingFile).where(WaitingFile.mod_id == mod_id, stored.exists())


def list_waiting_files(session: Session, mod_id: int) -> list[WaitingFile]:
    """The files of a mod that wait for the scanner, or in which it has found something."""
    return list(session.scalars(_waiting(mod_id)))


def refuse_unscanned(event: ModPublishing) -> None:
    """409 unless all files of the mod were scanned and found clean."""
    waiting = list_waiting_files(event.session, event.mod_id)
    if any(file.rule is not None for file in waiting):
        raise conflict("rejected_by_scan", FOUND_LATER)
    if waiting:
        raise conflict("not_scanned", NOT_SCANNED)


def record_hit(session: Session, upload: ScannedUpload, rule: str) -> None:
    """Keep what was found for the moderators; the same file of the same account is one hit."""
    same = select(ScanHit).where(ScanHit.account_id == upload.account_id, ScanHit.sha256 == upload.sha256)
    hit = session.scalars(same.limit(1)).first()
    if hit is None:
        hit = ScanHit(account_id=upload.account_id, sha256=upload.sha256, size=upload.size, times=0)
        session.add(hit)
    hit.mod_id, hit.rule, hit.last_at, hit.times = upload.mod_id, text.line(rule, RULE_NAME), now(), hit.times + 1


def list_hits(session: Session, size: int) -> list[ScanHit]:
    """What was found, the last first."""
    return list(session.scalars(select(ScanHit).order_by(ScanHit.last_at.desc(), ScanHit.id.desc()).limit(size)))


def find_waiting_files(session: Session, after: str, size: int) -> list[tuple[WaitingFile, StoredBlob | None]]:
    """Files that wait, in the order of their keys; without a blob if the mod no longer has the file."""
    joined = (StoredBlob.key == WaitingFile.blob_key) & StoredBlob.trashed_at.is_(None)
    statement = select(WaitingFile, StoredBlob).outerjoin(StoredBlob, joined)
    rows = session.execute(statement.where(WaitingFile.blob_key > after).order_by(WaitingFile.blob_key).limit(size))
    return [(waiting, blob) for waiting, blob in rows]


def end_waiting(session: Session, blob_key: str) -> None:
    """The file is clean, or gone."""
    session.execute(delete(WaitingFile).where(WaitingFile.blob_key == blob_key))


def refuse_waiting(session: Session, blob_key: str, rule: str) -> None:
    """The scanner has found something: the mod stays a draft until its owner replaces the file."""
    session.execute(update(WaitingFile).where(WaitingFile.blob_key == blob_key).values(rule=text.line(rule, RULE_NAME)))


def forget_scans_of_mods(event: ModsDeleted) -> None:
    """Deleted mods have no files that wait; what was found in their files stays without them."""
    event.session.execute(delete(WaitingFile).where(WaitingFile.mod_id.in_(event.mod_ids)))
    event.session.execute(update(ScanHit).where(ScanHit.mod_id.in_(event.mod_ids)).values(mod_id=None))


def forget_uploader(event: AccountDeleted) -> None:
    """Forget who sent a file; its digest and what was found in it stay."""
    event.session.execute(update(ScanHit).where(ScanHit.account_id == event.account_id).values(account_id=None))


def delete_old_hits(session: Session) -> None:
    """Delete what was last found `HIT_DAYS` ago."""
    session.execute(delete(ScanHit).where(ScanHit.last_at < now() - timedelta(days=HIT_DAYS)))
