"""Factories for tests that need mods, created and published through the API."""

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.catalogue import copies
from modhub.catalogue.models import Mod
from modhub.catalogue.moderating import hiding
from modhub.db import Databases
from modhub_testing import Site

OWNER = 7
"""The default owner of mods."""


def mod_address(mod: dict[str, Any], *more: object) -> str:
    """Return ``/api/modhub/{id}`` of ``mod``, followed by ``more`` segments."""
    return "/".join(["/api/modhub", str(mod["id"]), *map(str, more)])


def new_mod(site: Site, owner: int = OWNER, title: str = "A mod", **fields: Any) -> Any:
    """Create a draft of ``owner``; ``fields`` are fields of the JSON body."""
    return site.as_account(owner).post_json("/api/modhub", {"title": title, **fields}, status=201).json


def upload_asset(
    site: Site,
    mod: dict[str, Any],
    kind: str,
    content: bytes = b"content",
    *,
    owner: int = OWNER,
    content_type: str = "application/zip",
    status: int = 201,
    **query: str,
) -> Any:
    """Upload a file of ``kind`` (``code``, ``css``, ``images``) and return the JSON; ``query`` are query parameters."""
    url = mod_address(mod, kind) + ("?" + urlencode(query) if query else "")
    sent = site.as_account(owner).post(url, content, content_type=content_type, status=status)
    return sent.json


def publish_test_mod(site: Site, mod: dict[str, Any], owner: int = OWNER) -> Any:
    """Publish a mod and return its JSON."""
    return site.as_account(owner).post(mod_address(mod, "publish"), status=200).json


def published_mod(site: Site, owner: int = OWNER, title: str = "A mod", *, version: str = "1", **fields: Any) -> Any:
    """Create and publish a mod with a small code file."""
    mod = new_mod(site, owner, title, **fields)
    upload_asset(site, mod, "code", b"code of " + mod["guid"].encode(), owner=owner, version=version, name="mod.zip")
    return publish_test_mod(site, mod, owner)


def notes_of_mod(site: Site, mod: dict[str, Any]) -> Any:
    """Return the public changelog of ``mod``."""
    return site.get(mod_address(mod, "changelog")).json["notes"]


def insert_mods(site: Site, many: Iterable[dict[str, Any]]) -> list[int]:
    """Insert published mods without files into the database (a thousand per second) and return their ids.

    Each item has the columns of a row; the first mod is the one changed longest ago.
    """
    began = datetime(2026, 1, 1, tzinfo=UTC)
    rows = []
    for at, values in enumerate(many):
        time = began + timedelta(seconds=at)
        columns = {
            "guid": str(uuid.uuid4()),
            "owner": OWNER,
            "title": f"Mod {at}",
            "published": True,
            "published_at": time,
        }
        rows.append(Mod(**{**columns, "created_at": time, "updated_at": time, "assets": [], **values}))
    with find_service(site.registry, Databases).write_session.begin() as session:
        session.add_all(rows)
        session.flush()
        return [row.id for row in rows]


def copy_damage(site: Site) -> list[str]:
    """Return a sentence for each wrong public copy."""
    with site.databases.readonly_session() as session:
        return list(copies.public_copy_damage(session))


def hide_mod(site: Site, mod: dict[str, Any], reason: str | None = None) -> None:
    """Hide ``mod``, as the operator does."""
    with find_service(site.registry, Databases).write_session.begin() as session:
        hiding.hide_mods(session, [_found(session, mod)], reason)


def restore_mod(site: Site, mod: dict[str, Any]) -> None:
    """Undo :func:`hide_mod`."""
    with find_service(site.registry, Databases).write_session.begin() as session:
        hiding.restore_mods(session, [_found(session, mod)])


def _found(session: Session, mod: dict[str, Any]) -> Mod:
    return hiding.lock_mods(session, [mod["id"]])[mod["id"]]
