"""``modhub-admin doctor``: is everything around the service as it should be? Each line says ok, or what to do.

A check returns sentences about what to do, none if all is well; an error that it raises is such a sentence too.
Features add checks with ``config.add_check``; those of the core also look at the ini.
"""

import argparse
import configparser
import http.client
import logging
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from threading import Event, Thread
from time import time
from typing import Any, Final
from urllib.parse import urlsplit

from sqlalchemy import inspect

from modhub.admin import migrate, observations
from modhub.admin.free_space import free_bytes
from modhub.admin.restored import refuse_unready
from modhub.admin.start_checks import base_url_warnings, key_warnings, secret_warnings
from modhub.base.errors import ApiError
from modhub.base.settings import StartRefused, is_loopback
from modhub.blobs.operator_reasons import store_reason
from modhub.content.limits import CODE, MB
from modhub.db import database_errors, fault_reason, now
from modhub.plugins.declarations import DeclaredCheck
from modhub.plugins.workers import find_worker_problems
from modhub.server.settings import Settings

log = logging.getLogger(__name__)
ANSWER_SECONDS: Final = 2.0
DOCTOR_SECONDS: Final = 5.0
BACKUP_AGE: Final = timedelta(days=2)
"""Backups are made and verified every night."""
CERTIFICATE_DAYS: Final = 14
"""certbot renews 30 days before."""
_VERSION_TABLE: Final = "_alembic_version"


def run_doctor(admin: Any, arguments: argparse.Namespace) -> int:
    """Run the checks and print each; the exit code is 1 if one of them is not ok."""
    is_well = True
    checks = [(label, partial(find_problems, admin), DOCTOR_SECONDS) for label, find_problems in CORE_CHECKS]
    declared = admin.declarations.checks_at("doctor")
    checks += [(check.name, partial(_run_check, check, admin), check.seconds) for check in declared]
    for label, find_problems, seconds in checks:
        problems = examine(find_problems, seconds, admin)
        is_well = is_well and not problems
        if arguments.json:
            admin.say_json({"label": label, "ok": not problems, "problems": problems})
        else:
            for line in problems or ["ok"]:
                admin.say(f"{label}: {line}")
    return 0 if is_well else 1


def _run_check(check: DeclaredCheck, admin: Any) -> Iterator[str]:
    with admin.databases.readonly_session() as session:
        yield from check.run(admin.registry, session)


def examine(find_problems: Callable[[], Iterable[str]], seconds: float, admin: Any) -> list[str]:
    """Run a check in a thread of its own, which does not keep the process alive."""
    problems, ended = list[str](), Event()

    def run() -> None:
        try:
            problems.extend(find_problems())
        except (StartRefused, ApiError) as error:
            problems.append(str(error).rstrip("."))
        except Exception as error:
            log.debug("a check failed", exc_info=True)
            reason = fault_reason(error, admin.databases.write_engine.url) or type(error).__name__
            problems.append(f"the check failed ({reason})")
        ended.set()

    Thread(target=run, name="modhub doctor", daemon=True).start()
    if ended.wait(seconds):
        return problems
    advice = "start what it asks, or correct the setting that names it"
    return [*problems, f"no answer within {seconds:g} seconds: {advice}"]


def find_database_problems(admin: Any) -> Iterator[str]:
    """Connect, look at schema and rows as the start does, and write."""
    databases = admin.databases
    migrate.refuse_when_behind(databases, admin.declarations.migrations, admin.ini)
    try:
        with databases.write_session.begin() as session:
            observations.record_written(session)
    except Exception as error:  # noqa: BLE001 - a driver may raise anything
        reason = database_errors.driver_reason(error, databases.write_engine.url)
        yield f"the database cannot be written ({reason}): check its disk and the rights of its user"
        return
    refuse_unready(databases, admin.ini)


def find_storage_problems(admin: Any) -> Iterator[str]:
    """Write, as the service does, and see whether there is room for large files."""
    try:
        admin.existing_store.probe()
    except ApiError as error:
        failure = f"files cannot be stored at {admin.registry.settings['modhub.storage']}{store_reason(error)}"
        yield f"{failure}: check its free space, its rights and the log"
    # Uploads that are under way may take spool_bytes, and what is being stored comes on top.
    spool = server_section(admin.ini).get("spool_bytes", "")
    needed = (int(spool) if spool.isdecimal() else Settings.spool_bytes) + 2 * CODE
    for name, free in free_bytes(admin.registry.settings).items():
        if free < needed:
            yield (
                f"the disk of the {name} folder has {free // MB:,} MB free, and uploads may take {needed // MB:,} MB: "
                "make room, or lower spool_bytes in [server:main]"
            )


def find_secret_problems(admin: Any) -> Iterator[str]:
    """Secrets and keys that are weak, misspelt or unused."""
    yield from secret_warnings(admin.registry.settings["modhub.secret"])
    yield from key_warnings(admin.registry)


def find_proxy_problems(admin: Any) -> Iterator[str]:
    """The way in: what the ini says of the proxy, and what arrives through ``modhub.base_url``."""
    base_url, server = admin.registry.settings["modhub.base_url"], server_section(admin.ini)
    yield from base_url_warnings(admin.registry.settings)
    trusted, headers = server.get("trusted_proxy", "").strip(), server.get("trusted_proxy_headers", "").lower().split()
    is_forgotten = bool(server) and base_url.startswith("https:") and not trusted
    if is_forgotten or (trusted and "x-forwarded-for" not in headers):
        yield (
            "everybody counts as one caller: in [server:main], set trusted_proxy to the address of the proxy, and "
            "trusted_proxy_headers = x-forwarded-for x-forwarded-proto x-forwarded-host"
        )
    try:
        yield from _find_upload_problems(base_url)
        with closing(_connection(base_url)) as connection:
            connection.request("GET", "/metrics")
            is_public = connection.getresponse().status == http.client.OK
        if is_public and not is_loopback(base_url):
            yield (
                f"everybody can read {base_url}/metrics, because the proxy hides the caller's address: let it set "
                "X-Forwarded-For (nginx: proxy_set_header X-Forwarded-For $remote_addr)"
            )
    except ssl.SSLError as error:
        yield f"the TLS certificate at {base_url} is not accepted ({error.reason or type(error).__name__}): renew it"
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        yield f"{base_url} cannot be reached ({reason}): start the service and the proxy, or correct modhub.base_url"


def _find_upload_problems(base_url: str) -> Iterator[str]:
    """Send the head of the largest upload, without a credential: the service answers 401 before the body."""
    with closing(_connection(base_url)) as connection:
        connection.putrequest("POST", "/api/modhub/1/code?version=1&name=doctor.zip")
        connection.putheader("Content-Length", str(CODE))
        connection.endheaders()
        if isinstance(connection.sock, ssl.SSLSocket):
            certificate: Any = connection.sock.getpeercert()
            days = (ssl.cert_time_to_seconds(certificate["notAfter"]) - time()) / 86400
            if days < CERTIFICATE_DAYS:
                yield f"the TLS certificate at {base_url} expires in {days:.0f} days: renew it"
        upload = f"an upload of {CODE // MB} MB"
        try:
            status = connection.getresponse().status
        except TimeoutError:
            advice = "turn off the proxy's buffering of requests (nginx: proxy_request_buffering off)"
            yield f"{upload} gets no answer before its body is sent: {advice}"
            return
        if status != http.client.UNAUTHORIZED:
            advice = "correct modhub.base_url, or the proxy's limit (nginx: client_max_body_size 0)"
            yield f"{upload} gets {status} and not the service's 401: {advice}"


def _connection(base_url: str) -> http.client.HTTPConnection:
    url = urlsplit(base_url)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    return kind(url.hostname or "", url.port, timeout=ANSWER_SECONDS)


def find_backup_problems(admin: Any) -> Iterator[str]:
    """When ``backup --verify`` last found a backup of this database whole."""
    if admin.databases.has_no_file:
        return
    with admin.reading() as session:
        verified = session.get(observations.Observation, observations.BACKUP_VERIFIED)
    advice = "run modhub-admin backup, then backup --verify, every night"
    if verified is None:
        yield f"no backup of this database was ever found whole: {advice}"
    elif now() - (made_at := datetime.fromisoformat(verified.text)) > BACKUP_AGE:
        yield f"the last backup that was found whole is of {made_at:%Y-%m-%d %H:%M} UTC: {advice}"


def find_feature_problems(admin: Any) -> Iterator[str]:
    """Features that the database has and the ini has not; ``check`` warns of them, too."""
    if admin.databases.has_no_file:
        return
    tables = migrate.with_connection(admin.databases, lambda connection: inspect(connection).get_table_names())
    installed = {name.removesuffix(_VERSION_TABLE) for name in tables if name.endswith(_VERSION_TABLE)}
    if missing := sorted(installed - {package.package for package in admin.declarations.migrations}):
        yield (
            f"the database has tables of {', '.join(missing)}, and pyramid.includes does not name them: add them, or "
            "drop their tables when nobody needs what is in them"
        )


def server_section(ini: str) -> dict[str, str]:
    """``[server:main]``, without interpolation; empty if there is none or it is not ours."""
    parser = configparser.RawConfigParser()
    try:
        parser.read(ini, "utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    section = dict(parser["server:main"]) if parser.has_section("server:main") else {}
    return section if section.get("use", "").startswith(("egg:modhub#", "egg:waitress#")) else {}


CORE_CHECKS: Final = (
    ("database", find_database_problems),
    ("storage", find_storage_problems),
    ("secrets", find_secret_problems),
    ("proxy", find_proxy_problems),
    ("workers", find_worker_problems),
    ("backup", find_backup_problems),
    ("features", find_feature_problems),
)
"""The checks of the core, in the order in which they are printed."""
