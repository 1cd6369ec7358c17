"""The tables of the catalogue. Anonymous reads use public copies, see :mod:`.copies`."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, SmallInteger, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship, selectinload

from modhub.blobs.models import StoredBlob
from modhub.content.limits import CAPTION, CONTENT_TYPE, FILE_NAME, GAME, TITLE, VERSION
from modhub.db import Base, Id, Timestamp


class AssetKind(StrEnum):
    """The kinds of asset, in display order."""

    CODE = "code"
    CSS = "css"
    IMAGE = "image"


NO_OWNER: Final = -1
"""The owner of a mod that a moderator deleted: no account has this id, and nobody asks with it, as with 0."""


class Mod(Base):
    """A mod. ``owner`` is an account id without a foreign key: accounts belong to another package (C-ACC-18).

    ``published_at``: when its owner published it. ``hidden_at``: when an operator hid it from everybody but its owner;
    hiding does not change ``published``.
    ``erase_at``: of one that a moderator deleted, when it is erased; ``former_owner`` is whose it was, as long as that
    account exists (:mod:`modhub.catalogue.moderating.evidence`).
    """

    __tablename__ = "core_mod"
    __table_args__ = (
        Index("ix_core_mod_owner_updated_at", "owner", "updated_at", "id"),
        Index("ix_core_mod_published_at", "published_at", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    guid: Mapped[str] = mapped_column(String(36), unique=True)
    owner: Mapped[int] = mapped_column(BigInteger)
    title: Mapped[str] = mapped_column(String(TITLE))
    description: Mapped[str] = mapped_column(Text, default="")
    version: Mapped[str] = mapped_column(String(VERSION), default="")
    games: Mapped[list[str]] = mapped_column(JSON, default=list)
    requires: Mapped[list[str]] = mapped_column(JSON, default=list)
    conflicts: Mapped[list[str]] = mapped_column(JSON, default=list)
    published: Mapped[bool] = mapped_column(default=False)
    published_at: Mapped[datetime | None] = mapped_column(Timestamp)
    ups: Mapped[int] = mapped_column(default=0)
    downs: Mapped[int] = mapped_column(default=0)
    hidden_at: Mapped[datetime | None] = mapped_column(Timestamp)
    hidden_reason: Mapped[str | None] = mapped_column(Text)
    erase_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
    former_owner: Mapped[int | None] = mapped_column(BigInteger, index=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, index=True)

    assets: Mapped[list["Asset"]] = relationship(lazy="raise", order_by="Asset.id", cascade="all, delete-orphan")


IS_THERE: Final = Mod.erase_at.is_(None)
"""Not one that a moderator deleted."""


class Asset(Base):
    """A file of a mod. A new code or css upload keeps the row and replaces the blob (C-FILE-1).

    ``position``: the place of an image in its owner's order; images without one follow in upload order.
    ``archive_problems``: of a code file, as :mod:`modhub.catalogue.owning.archives` found them; NULL if it found none.
    """

    __tablename__ = "core_asset"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    mod_id: Mapped[int] = mapped_column(ForeignKey("core_mod.id"), index=True)
    kind: Mapped[str] = mapped_column(String(8))
    name: Mapped[str] = mapped_column(String(FILE_NAME))
    content_type: Mapped[str] = mapped_column(String(CONTENT_TYPE))
    blob_id: Mapped[int] = mapped_column(ForeignKey("core_blob.id"), index=True)
    stored_at: Mapped[datetime] = mapped_column(Timestamp)
    position: Mapped[int | None]
    caption: Mapped[str | None] = mapped_column(String(CAPTION))
    archive_problems: Mapped[list[dict[str, str]] | None] = mapped_column(JSON(none_as_null=True), deferred=True)

    blob: Mapped[StoredBlob] = relationship(lazy="raise")

    @property
    def size(self) -> int:
        """Size in bytes; the blob must be loaded."""
        return self.blob.size


IS_CODE: Final = Asset.kind == AssetKind.CODE.value
IS_IMAGE: Final = Asset.kind == AssetKind.IMAGE.value
WITH_FILES: Final = selectinload(Mod.assets).joinedload(Asset.blob)
"""Loads the files of mods with them."""


class Note(Base):
    """A changelog entry. It reserves the version of its upload; deleting the entry frees that version."""

    __tablename__ = "core_note"
    __table_args__ = (UniqueConstraint("mod_id", "version"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    mod_id: Mapped[int] = mapped_column(ForeignKey("core_mod.id"))
    version: Mapped[str] = mapped_column(String(VERSION))
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    title: Mapped[str | None] = mapped_column(String(TITLE))
    text: Mapped[str] = mapped_column(Text, default="")
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    edited_at: Mapped[datetime | None] = mapped_column(Timestamp)
    automatic: Mapped[bool] = mapped_column(default=True)


class DescriptionSource(Base):
    """What a description was written from, if not HTML (`modhub.catalogue.owning.texts`).

    ``sha256`` is that of the description: the API changes one without its source.
    """

    __tablename__ = "core_description_source"

    mod_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    text_format: Mapped[str] = mapped_column(String(10))
    source: Mapped[str] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(String(64))


class NoteSource(Base):
    """What the text of a changelog entry was written from, if not HTML; as `DescriptionSource`."""

    __tablename__ = "core_note_source"

    note_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    text_format: Mapped[str] = mapped_column(String(10))
    source: Mapped[str] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(String(64))


class ReservedVersion(Base):
    """The version of a changelog entry that a moderator removed: it stays used (C-UP-4).

    No foreign key, here and in the next two: they outlive the mod, or are deleted after it.
    """

    __tablename__ = "core_reserved_version"

    mod_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    version: Mapped[str] = mapped_column(String(VERSION), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))


class KeptFile(Base):
    """A file that a moderator removed, kept aside as long as its mod exists."""

    __tablename__ = "core_kept_file"

    blob_id: Mapped[int] = mapped_column(ForeignKey("core_blob.id"), primary_key=True, autoincrement=False)
    mod_id: Mapped[int] = mapped_column(Id, index=True)
    kind: Mapped[str] = mapped_column(String(8))
    name: Mapped[str] = mapped_column(String(FILE_NAME))
    content_type: Mapped[str] = mapped_column(String(CONTENT_TYPE))

    blob: Mapped[StoredBlob] = relationship(lazy="raise")


class Successor(Base):
    """The mod that its owner says supersedes this one, by its GUID in lower case; it need not exist here."""

    __tablename__ = "core_successor"

    mod_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    guid: Mapped[str] = mapped_column(String(36))


class IdempotencyKey(Base):
    """A call that created something and may be repeated (C-OWN-31); of key and content only hashes.

    ``mod_id``: the mod that it created or added to, which may have been deleted since.
    """

    __tablename__ = "core_idempotency_key"

    key_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    content_sha256: Mapped[str] = mapped_column(String(64))
    mod_id: Mapped[int] = mapped_column(Id)
    used_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


class Vote(Base):
    """One account's vote on one mod: 1 or -1."""

    __tablename__ = "core_vote"

    mod_id: Mapped[int] = mapped_column(ForeignKey("core_mod.id"), primary_key=True)
    account_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, index=True)
    value: Mapped[int] = mapped_column(SmallInteger)
    cast_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


class Game(Base):
    """A curated game, identified by ``folded`` (C-MOD-6). ``colour`` is the main one of its icon, as ``#rrggbb``."""

    __tablename__ = "core_game"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    name: Mapped[str] = mapped_column(String(GAME))
    folded: Mapped[str] = mapped_column(Text, unique=True)
    display_name: Mapped[str] = mapped_column(String(GAME), default="")
    colour: Mapped[str | None] = mapped_column(String(7))

    icons: Mapped[list["GameIcon"]] = relationship(lazy="raise", cascade="all, delete-orphan")


class GameIcon(Base):
    """The icon of a curated game, as given (``side`` 0) or with a longer side of 64 or 128 pixels, for pages.

    A new icon gets new ids, so that their addresses may be cached.
    """

    __tablename__ = "core_game_icon"
    __table_args__ = (UniqueConstraint("game_id", "side"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    game_id: Mapped[int] = mapped_column(ForeignKey("core_game.id"))
    side: Mapped[int] = mapped_column(SmallInteger)
    name: Mapped[str] = mapped_column(String(FILE_NAME))
    content_type: Mapped[str] = mapped_column(String(CONTENT_TYPE))
    blob_id: Mapped[int] = mapped_column(ForeignKey("core_blob.id"))
    stored_at: Mapped[datetime] = mapped_column(Timestamp)

    blob: Mapped[StoredBlob] = relationship(lazy="raise")


class PublicMod(Base):
    """The public copy of a published mod that is not hidden; ``document`` is its prepared JSON.

    No foreign key: the copy of a deleted mod is deleted at the end of the same transaction. ``requires`` holds the
    GUIDs as written by the owner, in order, separated by spaces. ``links`` is the ``Link`` header of the mod.
    """

    __tablename__ = "core_public_mod"
    __table_args__ = (
        Index("ix_core_public_mod_new", "updated_at", "id"),
        Index("ix_core_public_mod_top", "score", "updated_at", "id"),
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    guid: Mapped[str] = mapped_column(String(36), unique=True)
    owner: Mapped[int] = mapped_column(BigInteger, index=True)
    score: Mapped[int]
    updated_at: Mapped[datetime] = mapped_column(Timestamp)
    requires: Mapped[str] = mapped_column(Text)
    document: Mapped[bytes]
    links: Mapped[str] = mapped_column(Text, server_default="")


class PublicText(Base):
    """The search text of a published mod: its folded title and game names, one per line.

    ``updated_at`` is the rowid in SQLite's full-text index, so that the newest hits come straight from the index.
    """

    __tablename__ = "core_public_text"

    mod_id: Mapped[int] = mapped_column(ForeignKey("core_public_mod.id"), primary_key=True, autoincrement=False)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    text: Mapped[str] = mapped_column(Text)


class PublicGame(Base):
    """The folded games of published mods, indexed by time of change."""

    __tablename__ = "core_public_game"
    __table_args__ = (Index("ix_core_public_game_new", "folded", "updated_at", "mod_id"),)

    mod_id: Mapped[int] = mapped_column(ForeignKey("core_public_mod.id"), primary_key=True, autoincrement=False)
    folded: Mapped[str] = mapped_column(Text, primary_key=True)
    updated_at: Mapped[datetime] = mapped_column(Timestamp)


class PublicRequirement(Base):
    """The requirements of published mods, for install chains and "used by"; ``guid`` is in lower case."""

    __tablename__ = "core_public_requirement"

    mod_id: Mapped[int] = mapped_column(ForeignKey("core_public_mod.id"), primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    guid: Mapped[str] = mapped_column(String(36), index=True)


class PublicCounter(Base):
    """Maintained counts: an exact COUNT over all mods takes milliseconds."""

    __tablename__ = "core_counter"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)
