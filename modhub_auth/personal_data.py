"""What is stored about a person: what accounts have of it, the archive of all of it, and the command (C-DAT)."""

import argparse
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED

import msgspec
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from zipstream import ZipStream

from modhub.audit import record
from modhub.base.errors import ApiError
from modhub.base.service_registry import find_optional_service, find_service
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore
from modhub.blobs.models import StoredBlob
from modhub.content.limits import KB
from modhub.content.portable_names import portable_name
from modhub.db import Databases, bulk, iso, now
from modhub.db.row_documents import row_documents
from modhub.plugins.commands import add_json_option
from modhub.plugins.declarations import AccountData, Declarations
from modhub_auth import blocking
from modhub_auth.models import (
    Account,
    Authenticator,
    ClientSession,
    Login,
    Offer,
    OutgoingEmail,
    PageSession,
    PublisherKey,
    RecoveryCode,
)

_ACCOUNT: Final = select(Account.id, Account.kind, Account.display_name, Account.created_at, Account.blocked_at)
_LOGINS: Final = select(Login.id, Login.kind, Login.platform, Login.subject, Login.verified, Login.created_at)
_PROGRAMS: Final = select(
    ClientSession.label, ClientSession.created_at, ClientSession.used_at, ClientSession.expires_at
)
_PAGES: Final = select(PageSession.label, PageSession.created_at, PageSession.used_at, PageSession.proved_at)
_KEYS: Final = (
    select(
        Login.subject.label("label"),
        PublisherKey.mod_id,
        PublisherKey.created_at,
        PublisherKey.used_at,
        PublisherKey.expires_at,
    )
    .select_from(PublisherKey)
    .join(Login, Login.id == PublisherKey.login_id)
)
_OFFER: Final = Offer.mod_id, Offer.created_at, Offer.expires_at, Offer.closed_at
_EMAILS: Final = select(
    OutgoingEmail.kind, OutgoingEmail.recipient, OutgoingEmail.created_at, OutgoingEmail.finished_at
)


def collect_account(session: Session, account_id: int) -> AccountData | None:
    """The account, its ways to sign in, what is signed in, and the emails to its addresses."""
    account: dict[str, Any] = next(iter(row_documents(session, _ACCOUNT.where(Account.id == account_id))), {})
    if not account:
        return None
    addresses = select(Login.subject).where(Login.account_id == account_id)
    codes = select(func.count(RecoveryCode.id)).where(RecoveryCode.account_id == account_id)
    factor = select(Authenticator.created_at).where(Authenticator.account_id == account_id)
    account |= {
        "logins": row_documents(session, _LOGINS.where(Login.account_id == account_id).order_by(Login.id)),
        "programs": row_documents(session, _PROGRAMS.where(ClientSession.account_id == account_id)),
        "pageSessions": row_documents(session, _PAGES.where(PageSession.account_id == account_id)),
        "publisherKeys": row_documents(session, _KEYS.where(Login.account_id == account_id)),
        "authenticators": row_documents(session, factor),
        "recoveryCodesLeft": session.scalar(codes),
        "offersMade": row_documents(session, select(*_OFFER, Offer.named).where(Offer.owner_id == account_id)),
        "offersReceived": row_documents(session, select(*_OFFER).where(Offer.recipient_id == account_id)),
        "emails": row_documents(session, _EMAILS.where(OutgoingEmail.recipient.in_(addresses))),
    }
    return AccountData(account)


FILES_FOLDER: Final = "files"
"""The folder of the files in the archive."""
ARCHIVE_ABOUT: Final = (
    "What this service stores about your account. Each document is JSON in UTF-8; times are UTC. Not in here: what "
    "others wrote, passwords, codes and keys, which are only stored hashed or sealed, and notes of the operator."
)


def personal_archive(registry: Any, account_id: int) -> Iterator[bytes]:
    """The zip archive for the person whose account it is, piece by piece, as it is read and never whole.

    First the documents, then the files one by one, and last what the archive is, with the files that could not be read.
    No session is open while the reader takes a piece.
    """
    databases, zipped = find_service(registry, Databases), ZipStream()
    documents, files = list[str](), dict[str, int]()
    for name, collect in sorted(find_service(registry, Declarations).personal_data.items()):
        with databases.readonly_session() as session:
            collected = collect(session, account_id)
        if collected is not None:
            documents.append(f"{name}.json")
            files |= {_safe_path(path): blob_id for path, blob_id in collected.files.items()}
            zipped.add(**_document(documents[-1], collected.document))
            yield from zipped.all_files()
    missing = list[str]()
    store = find_optional_service(registry, BlobStore)
    for path, blob in _find_blobs(databases, files):
        try:
            source = None if store is None or blob is None else store.open(blob.key, blob.size, blob.sha256)
        except ApiError:
            source = None
        if source is None or blob is None:
            missing.append(path)
            continue
        with source:
            zipped.add(iter(partial(source.read, 256 * KB), b""), path, size=blob.size)
            yield from zipped.all_files()
    about = {
        "about": ARCHIVE_ABOUT,
        "service": registry.settings["modhub.base_url"],
        "accountId": account_id,
        "madeAt": iso(now()),
        "documents": documents,
        "files": len(files) - len(missing),
        "missingFiles": missing,
    }
    zipped.add(**_document("about.json", about))
    yield from zipped.finalize()


def _safe_path(path: str) -> str:
    """The path below the folder of files, each part a name that every system can unpack."""
    return "/".join([FILES_FOLDER, *map(portable_name, path.split("/"))])


def _find_blobs(databases: Databases, files: dict[str, int]) -> Iterator[tuple[str, StoredBlob | None]]:
    for batch in bulk.batches(files.items()):
        with databases.readonly_session() as session:
            found = session.scalars(select(StoredBlob).where(StoredBlob.id.in_([blob_id for _, blob_id in batch])))
            blobs_by_id = {blob.id: blob for blob in found}
        yield from ((path, blobs_by_id.get(blob_id)) for path, blob_id in batch)


def _document(name: str, document: Any) -> dict[str, Any]:
    """A document as a member: it is written twice, so that its size is known and its text is never whole in memory."""
    size = sum(map(len, _json_pieces(document)))
    return {"data": _json_pieces(document), "arcname": name, "size": size, "compress_type": ZIP_DEFLATED}


def _json_pieces(document: Any) -> Iterator[bytes]:
    if not isinstance(document, list):
        yield _json(document)
        return
    yield b"["
    for number, item in enumerate(document):
        yield (b",\n" if number else b"\n") + _json(item)
    yield b"\n]"


def _json(document: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=1)


def export_arguments(parser: argparse.ArgumentParser) -> None:
    """The account, and where the archive goes"""
    parser.add_argument("account", help="its number or email address")
    parser.add_argument("--to", type=Path, required=True, metavar="FILE", help="the archive; it must not exist")
    add_json_option(parser)


def export_account(admin: Any, arguments: argparse.Namespace) -> int:
    """Write the archive into a new file that nobody else can read. Nothing is locked meanwhile."""
    with admin.reading() as session:
        account_id = blocking.find_account_ids(session, [arguments.account]).get(arguments.account)
        exists = account_id is not None and session.get(Account, account_id) is not None
    if account_id is None or not exists:
        raise StartRefused(f"there is no account {arguments.account}")
    try:
        descriptor = os.open(arguments.to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise StartRefused(f"{arguments.to} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(personal_archive(admin.registry, account_id))
            size = file.tell()
        with admin.writing() as (session, _):
            record(session, "own data exported", "account", account_id)
    except BaseException:
        arguments.to.unlink(missing_ok=True)
        raise
    if arguments.json:
        admin.say_json({"id": account_id, "bytes": size})
    else:
        admin.say(f"What is stored about account {account_id} is in {arguments.to}: {size} bytes.")
    return 0
