"""The core's checks of ``modhub-admin doctor``: database, schema, storage, clock, secret and keys."""

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import Connection, text

from modhub.admin.proxy_check import ask_base_url, find_proxy_problems, server_section
from modhub.admin.secret_ages import configured_secrets, first_seen, record_secrets
from modhub.base.errors import ApiError
from modhub.base.service_registry import find_optional_service
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore
from modhub.blobs.factory import local_folder
from modhub.blobs.operator_reasons import store_reason
from modhub.content.limits import CODE, MB
from modhub.db import database_errors, now
from modhub.ops import machines, migrate, observations
from modhub.ops.free_space import STORE, free_bytes
from modhub.ops.start_checks import key_warnings, secret_warnings
from modhub.server.settings import Settings

SAMPLE_BYTES: Final = 4096
CLOCK_SECONDS: Final = 30.0
"""A larger difference between two clocks is reported; answers take a moment too."""
SECRET_DAYS: Final = 365
SNAPSHOT_HOURS: Final = 2
_OLD_SNAPSHOTS: Final = text("""
SELECT pid, coalesce(usename, backend_type), CAST(extract(epoch FROM now() - xact_start) / 3600 AS int)
FROM pg_stat_activity
WHERE backend_xmin IS NOT NULL AND xact_start < now() - make_interval(hours => :hours)
ORDER BY xact_start
""")
_CLOCK_ADVICE: Final = "set the clock, and keep it right with chrony or systemd-timesyncd"


def find_database_problems(admin: Any) -> Iterator[str]:
    """Connect and write; on PostgreSQL compare the number of connections that are allowed."""
    databases = admin.databases
    if databases.has_no_file:
        yield f"there is no database yet; run: modhub-admin -c {admin.ini} migrate"
        return
    packages = admin.declarations.migrations
    behind, _ = migrate.with_connection(databases, lambda connection: migrate.compare_schema(connection, packages))
    if databases.dialect == "postgresql":
        allowed = migrate.with_connection(databases, _allowed_connections)
        if databases.limits.connections > allowed:
            yield (
                f"a process may open {databases.limits.connections} connections, PostgreSQL allows {allowed} in all: "
                "lower sqlalchemy.pool_size and sqlalchemy.max_overflow, or raise max_connections"
            )
        yield from migrate.with_connection(databases, _find_old_snapshots)
    if behind:
        return  # perhaps without a table to write to
    try:
        with databases.write_session.begin() as session:
            observations.record_written(session, "doctor")
    except Exception as error:  # noqa: BLE001 - a driver may raise anything
        reason = database_errors.driver_reason(error, databases.write_engine.url)
        yield f"the database cannot be written ({reason}): check its disk and the rights of its user"


def _find_old_snapshots(connection: Connection) -> list[str]:
    """Who keeps PostgreSQL from clearing dead rows; of other roles only a member of pg_read_all_stats sees it."""
    return [
        f"the process {pid} of PostgreSQL ({user}) has kept a snapshot for {hours} hours, so dead rows stay and tables "
        f"grow: end it with SELECT pg_terminate_backend({pid})"
        for pid, user, hours in connection.execute(_OLD_SNAPSHOTS, {"hours": SNAPSHOT_HOURS})
    ]


def _allowed_connections(connection: Connection) -> int:
    settings = "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
    return int(connection.scalar(text(f"SELECT {settings}")) or 0)


def find_schema_problems(admin: Any) -> Iterator[str]:
    """Compare the schema with this code, as at the start, and the code of all machines."""
    migrate.refuse_when_behind(admin.databases, admin.declarations.migrations, admin.ini)
    advice = "an upgrade is under way, or was left half done; bring all processes to the same version"
    yield from machines.find_differences(admin.databases, lambda note: note.version, advice)


def find_storage_problems(admin: Any) -> Iterator[str]:
    """Write, read and delete a small file, as the service does, and see whether there is room for large ones."""
    url = admin.registry.settings["modhub.storage"]
    store = find_optional_service(admin.registry, BlobStore)
    if store is None:
        yield "modhub.storage is empty, so uploads get 503; set it to file:///absolute/folder or s3://bucket/prefix"
        return
    if (folder := local_folder(url)) is not None:
        if not folder.is_dir():
            yield f"there is no folder {folder}; the service creates it when it starts, or check what is mounted there"
            return
        if folder.stat().st_uid != os.geteuid():
            yield f"the folder {folder} belongs to another user; run modhub-admin as the user of the service"
            return
    try:
        _write_and_read(store)
    except ApiError as error:
        failure = f"files cannot be written, read and deleted at {url}{store_reason(error)}"
        yield f"{failure}: check its free space, its rights and the log"
    yield from _find_full_disks(admin)


def _find_full_disks(admin: Any) -> Iterator[str]:
    """Uploads that are under way may take ``spool_bytes``, and what is being stored comes on top."""
    spool = server_section(admin.ini).get("spool_bytes", "")
    needed = (int(spool) if spool.isdecimal() else Settings.spool_bytes) + 2 * CODE
    for name, free in free_bytes(admin.registry.settings).items():
        if free < needed:
            folder = "the folder of files" if name == STORE else "the temporary folder"
            yield (
                f"the disk of {folder} has {free // MB:,} MB free, and uploads may take {needed // MB:,} MB at once: "
                "make room, or lower spool_bytes in [server:main]"
            )


def _write_and_read(store: BlobStore) -> None:
    content = secrets.token_bytes(SAMPLE_BYTES)
    blob = store.stage(io.BytesIO(content), SAMPLE_BYTES)
    try:
        store.publish(blob.key)
        with store.open(blob.key, blob.size, blob.sha256) as file:
            store_content = file.read()
        store.delete(blob.key)
    except BaseException:
        store.discard(blob.key)
        raise
    if store_content != content:
        raise ApiError(503, "storage_unreachable", "the content differs")


def find_clock_problems(admin: Any) -> Iterator[str]:
    """Compare this machine's clock with PostgreSQL's, with that behind base_url, and with what was recorded."""
    databases = admin.databases
    if databases.dialect == "postgresql":
        with suppress(StartRefused):  # the check of the database says why
            query = text("SELECT extract(epoch FROM clock_timestamp())")
            epoch = migrate.with_connection(databases, lambda connection: connection.scalar(query))
            yield from _compare_clocks("the database server", datetime.fromtimestamp(float(epoch or 0), UTC))
    response = ask_base_url(admin, "HEAD", "/healthz")
    if response is not None and response.headers.get("Date"):
        yield from _compare_clocks("the server at modhub.base_url", parsedate_to_datetime(response.headers["Date"]))
    ahead = {note.host: note.ahead for note in machines.noted_processes(databases)}
    for host, seconds in ahead.items():
        yield from _describe_difference(f"the clock of {host} is", seconds, "the database server")
    times = [time for time, _ in observations.recorded_if_readable(databases, "").values()]
    if times and max(times) > now() + timedelta(seconds=CLOCK_SECONDS):
        yield f"the database has records of {max(times):%Y-%m-%d %H:%M} UTC, which is in the future: {_CLOCK_ADVICE}"


def _compare_clocks(where: str, time: datetime) -> Iterator[str]:
    yield from _describe_difference("this machine's clock is", (now() - time).total_seconds(), where)


def _describe_difference(clock: str, ahead: float, where: str) -> Iterator[str]:
    if abs(ahead) > CLOCK_SECONDS:
        direction = "ahead of" if ahead > 0 else "behind"
        yield f"{clock} {abs(ahead):.0f} seconds {direction} that of {where}: {_CLOCK_ADVICE}"


def find_secret_problems(admin: Any) -> Iterator[str]:
    """Weak, old or unknown secrets; their age counts from when a process first used them on this database."""
    settings = admin.registry.settings
    yield from secret_warnings(settings["modhub.secret"])
    advice = "all processes need the same first secret, or one refuses what another has signed"
    yield from machines.find_differences(admin.databases, lambda note: note.secret, advice)
    fingerprints = configured_secrets(settings)
    seen = first_seen(admin.databases)
    if seen and not seen.keys() & set(fingerprints):
        yield (
            "no secret of modhub.secret was used with this database before; if there was another one, add it as a "
            "further line, or no authenticator opens any more"
        )
    if not admin.databases.has_no_file:
        record_secrets(admin.registry)
    since = seen.get(fingerprints[0])
    if since is not None and now() - since > timedelta(days=SECRET_DAYS):
        yield (
            f"the first secret of modhub.secret is in use since {since:%Y-%m-%d}, {(now() - since).days} days: add a "
            "new one as the last line, restart every process, then make it the first and restart again"
        )


def find_key_problems(admin: Any) -> Iterator[str]:
    """Keys of callers and of the ini that are weak, misspelt or unused."""
    yield from key_warnings(admin.registry)


def includeme(config: Configurator) -> None:
    """Declare them in the order in which they are printed."""
    for order, label, check, asks in (
        (10, "database", find_database_problems, ("sqlalchemy.url",)),
        (20, "schema", find_schema_problems, ("sqlalchemy.url",)),
        (30, "storage", find_storage_problems, ("modhub.storage",)),
        (50, "clock", find_clock_problems, ("sqlalchemy.url", "modhub.base_url")),
        (60, "secret", find_secret_problems, ("sqlalchemy.url",)),
        (70, "keys", find_key_problems, ()),
        (80, "proxy", find_proxy_problems, ("modhub.base_url", "sqlalchemy.url")),
    ):
        config.add_doctor_check(label, check, order=order, asks=asks)
