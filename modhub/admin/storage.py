"""The file store that the ini names, and ``modhub-admin move-storage FROM TO``."""

import argparse
from typing import Any, Final

from pyramid.config import Configurator

from modhub.audit import record
from modhub.base.errors import ApiError
from modhub.base.progress import progress_bar
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore, FollowsAddress, storage_from_url
from modhub.blobs.moving import copy_store, count_live
from modhub.blobs.naming import names_of_keys
from modhub.db import Databases
from modhub.plugins.commands import AdminCommand, add_dry_run_option
from modhub.plugins.declarations import Declarations
from modhub.storage_address.services import CurrentAddress

_EXAMPLES: Final = """\
move-storage --dry-run file:///var/lib/modhub/files s3://bucket/prefix    says how much there is to copy
move-storage file:///var/lib/modhub/files s3://bucket/prefix              from disk to the object store of my.ini
move-storage s3://bucket/prefix file:///var/lib/modhub/files              and back"""


def open_store(registry: Any, *, make: bool, url: str | None = None) -> BlobStore | None:
    """The file store at ``url``, or that of the ini. Raises `StartRefused` with one sentence."""
    factories, settings = find_service(registry, Declarations).blob_stores, registry.settings
    try:
        store = storage_from_url(settings["modhub.storage"] if url is None else url, factories, settings, make=make)
    except ValueError as error:
        raise StartRefused(str(error).rstrip(".")) from None
    if isinstance(store, FollowsAddress):
        store.follow_address(CurrentAddress(find_service(registry, Databases).raw_queries).current)
    return store


def run_move_storage(admin: Any, arguments: argparse.Namespace) -> int:
    """Copy all files; exit code 1 if the old store does not have one whole."""
    source, target = _open_stores(admin, arguments)
    with admin.reading() as session:
        count, size = count_live(session)
    if arguments.dry_run:
        admin.say(f"Would copy up to {count} files ({size} bytes). Nothing was copied.")
        return 0
    target.probe()
    with progress_bar("bytes of files", size) as advance:
        result = copy_store(admin.databases, source, target, advance)
    with admin.writing() as (session, _):
        record(session, "files copied", "store", copied=result.copied, damaged=len(result.damaged))
    admin.say(f"Copied {result.copied} files ({result.copied_bytes} bytes); {result.present} were there already.")
    with admin.reading() as session:
        names = names_of_keys(session, admin.declarations.blob_names, [blob.key for blob in result.damaged])
    for blob in result.damaged:
        admin.say(f"Not copied, because the old store does not have it whole: file {blob.key}{names[blob.key]}")
    if admin.registry.settings["modhub.storage"].strip() != arguments.target:
        admin.say(f"Now set modhub.storage = {arguments.target}, restart every process, and run this command again:")
        admin.say("it copies what was uploaded before the restart. Nothing was removed from the old store.")
    return 1 if result.damaged else 0


def _open_stores(admin: Any, arguments: argparse.Namespace) -> tuple[BlobStore, BlobStore]:
    if arguments.source.rstrip("/") == arguments.target.rstrip("/"):
        raise StartRefused("FROM and TO are the same store")
    source = open_store(admin.registry, make=False, url=arguments.source)
    target = open_store(admin.registry, make=not arguments.dry_run, url=arguments.target)
    if source is None or target is None:
        raise StartRefused("FROM and TO are addresses of stores, as in modhub.storage")
    try:
        # An old store that is not there is a mistake in its address, not one that is empty.
        next(iter(source.keys()), None)
    except ApiError:
        raise StartRefused(f"the old store {arguments.source} cannot be read") from None
    return source, target


def move_storage_arguments(parser: argparse.ArgumentParser) -> None:
    """``FROM TO``"""
    kinds = "file:///absolute/folder or s3://bucket/prefix"
    parser.add_argument("source", metavar="FROM", help=f"the old store: {kinds}; it is only read")
    parser.add_argument("target", metavar="TO", help="the new store; an object store has the endpoint and keys of INI")
    add_dry_run_option(parser, "say how much there is to copy, copy nothing")


def includeme(config: Configurator) -> None:
    """Register the command."""
    config.add_command(
        AdminCommand(
            "move-storage",
            "copy all files to another store, while the service runs",
            move_storage_arguments,
            run_move_storage,
            examples=_EXAMPLES,
        )
    )
