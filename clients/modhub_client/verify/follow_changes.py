"""Following the catalogue: the list of changes, and the snapshot with the changes after it."""

import gzip
import hashlib
import json
import zlib
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any, Final

from modhub_client.verify.checks import follow_check
from modhub_client.verify.replies import Broken, Skipped, require, require_equal
from modhub_client.verify.run import UNKNOWN_GUID, Run
from modhub_client.verify.shapes import TIME, described_answer, list_of, require_shape

_WHATS: Final = frozenset({"published", "edited", "file", "deleted"})
_OTHER_KINDS: Final = frozenset({"build", "app_changelog", "game"})
_PAGES: Final = 20
"""Pages of a thousand changes that are followed."""
_LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a snapshot that is downloaded."""
_LONGEST: Final = timedelta(minutes=11)
"""That a snapshot keeps what was deleted, and a minute for clocks."""


def read_changes(run: Run, since: int = 0, limit: int = 1000, feed: str = "") -> dict[str, Any]:
    """A page of changes."""
    more = f"&feed={feed}" if feed else ""
    reply = run.service.get(f"/api/modhub/changes?since={since}&limit={limit}{more}")
    return described_answer(run, "GET /api/modhub/changes", reply)


def follow_all(run: Run) -> list[dict[str, Any]]:
    """All changes from the beginning; `Skipped` if they are too many."""
    changes: list[dict[str, Any]] = []
    page = read_changes(run)
    for _ in range(_PAGES):
        changes += page["changes"]
        if not page["more"]:
            return changes
        page = read_changes(run, page["serial"], feed=page["feed"])
    raise Skipped("the list of changes is too long to be followed whole")


def _changes_of_mods(run: Run) -> list[dict[str, Any]]:
    return [change for change in follow_all(run) if change["kind"] == "mod"]


def _deletions(run: Run) -> list[dict[str, Any]]:
    return [change for change in _changes_of_mods(run) if change["what"] == "deleted"]


def _public_guids(run: Run) -> set[str]:
    return {change["guid"].lower() for change in _changes_of_mods(run) if change["what"] != "deleted"}


@follow_check("C-SYNC-4")
def changes_come_by_rising_serial(run: Run) -> None:
    """After ``since``, as many as ``limit``; ``serial`` is where to go on."""
    page = read_changes(run, limit=5)
    require_shape("the times of changes", list_of(TIME), [change["at"] for change in page["changes"]])
    require(len(page["changes"]) <= 5, "limit=5: more than five changes.")
    for before, after in pairwise(change["serial"] for change in page["changes"]):
        require(before < after, "the serials do not rise.")
    if page["changes"]:
        require(page["serial"] >= page["changes"][-1]["serial"], "serial: expected that of the last change.")
    following = read_changes(run, page["serial"], 5, page["feed"])
    require(all(change["serial"] > page["serial"] for change in following["changes"]), "a change is not after since.")
    require_equal("feed", page["feed"], following["feed"])


@follow_check("C-SYNC-4", "C-HTTP-9")
def changes_have_an_etag(run: Run) -> None:
    """Who knows them all gets a 304 of at most 500 bytes, without what a proxy adds to status line and headers."""
    changes = follow_all(run)
    path = f"/api/modhub/changes?since={changes[-1]['serial'] if changes else 0}"
    etag = run.service.get(path).expect(200).header("ETag")
    require(etag.startswith('"'), f"{path}: the ETag is {etag!r}.")
    reply = run.service.get(path, if_none_match=etag).expect(304)
    lines = [
        f"{name}: {value}\r\n"
        for name, value in reply.headers.items()
        if name.lower() not in {"via", "alt-svc", "server"}
    ]
    size = len("HTTP/1.1 304 Not Modified\r\n\r\n") + sum(map(len, lines))
    require(size <= 500, f"{reply.call}: the 304 has {size} bytes.")
    require_equal("Access-Control-Expose-Headers of the 304", "", reply.header("Access-Control-Expose-Headers"))


@follow_check("C-SYNC-5", "C-PRO-2")
def each_mod_is_in_the_changes_once(run: Run) -> None:
    """With its latest change; what is deleted has no ``id``, and everything public is there."""
    changes = _changes_of_mods(run)
    guids = [change["guid"].lower() for change in changes]
    require_equal("the mods of the changes, each once", len(guids), len(set(guids)))
    for change in changes:
        require(change["what"] in _WHATS, f"a change is {change['what']!r}.")
        require_equal(f"whether {change['guid']} has an id", change["what"] != "deleted", "id" in change)
    public = _public_guids(run)
    for mod in run.mods:
        require(mod["guid"].lower() in public, f"the changes have not the mod {mod['id']}.")
    require_equal("how many mods are public", run.listed.document()["total"], len(public))


@follow_check("C-SYNC-7")
def builds_and_games_are_changes_without_a_guid(run: Run) -> None:
    """Of the kinds ``build``, ``app_changelog`` and ``game``."""
    others = [change for change in follow_all(run) if change["kind"] != "mod"]
    for change in others:
        require(change["kind"] in _OTHER_KINDS, f"a change is of the kind {change['kind']!r}.")
        require("guid" not in change and "id" not in change, f"a {change['kind']} has a guid or an id.")
    if not others:
        raise Skipped("no build and no game is in the list of changes")


@follow_check("C-SYNC-6")
def another_feed_begins_again(run: Run) -> None:
    """410 for another ``feed``, and for a serial that is not there yet."""
    run.service.get(f"/api/modhub/changes?since=0&feed={UNKNOWN_GUID}").expect_error(410, "feed_restarted")
    run.service.get("/api/modhub/changes?since=900000000000").expect_error(410, "feed_restarted")


@follow_check("C-SYNC-4")
def parameters_of_changes_are_numbers(run: Run) -> None:
    """400 for anything else; a large ``limit`` is lowered."""
    for query in ("since=x", "since=-1", "limit=x", "since=1.0"):
        run.service.get(f"/api/modhub/changes?{query}").expect_error(400)
    page = run.service.read("/api/modhub/changes?limit=999999")
    require(len(page["changes"]) <= 1000, "limit=999999: more than a thousand changes.")
    require(len(run.service.read("/api/modhub/changes?limit=0")["changes"]) <= 1, "limit=0: too many.")


def _snapshot(run: Run) -> dict[str, Any]:
    reply = run.service.get("/api/modhub/snapshot").expect(200, 404)
    if reply.status == 404:
        raise Skipped("the deployment has made no snapshot")
    return described_answer(run, "GET /api/modhub/snapshot", reply)


@follow_check("C-SYNC-12", "C-SYNC-13")
def the_pointer_names_a_snapshot(run: Run) -> None:
    """Its serial with its feed, its address, size and digest."""
    pointer = _snapshot(run)
    head = run.service.head(pointer["url"]).expect(200).expect_header("ETag", f'"{pointer["sha256"]}"')
    require_equal("the size of the snapshot", str(pointer["bytes"]), head.header("Content-Length"))
    read_changes(run, pointer["serial"], 1, pointer["feed"])


def _snapshot_content(run: Run, pointer: dict[str, Any]) -> bytes:
    if pointer["bytes"] > _LARGEST:
        raise Skipped("the snapshot is larger than 8 MB")
    return run.service.get(pointer["url"]).expect(200).body


def _guids_of(content: bytes) -> list[str]:
    try:
        return [json.loads(line)["guid"].lower() for line in gzip.decompress(content).splitlines()]
    except (OSError, EOFError, zlib.error):
        raise Broken("the snapshot is no gzip file.") from None


@follow_check("C-SYNC-12")
def a_snapshot_with_the_changes_after_it_is_the_catalogue(run: Run) -> None:
    """Each mod in one line; its digest is that of the pointer."""
    pointer = _snapshot(run)
    content = _snapshot_content(run, pointer)
    require_equal("the digest of the snapshot", pointer["sha256"], hashlib.sha256(content).hexdigest())
    listed = _guids_of(content)
    guids = set(listed)
    require_equal("the mods of the snapshot, each once", len(listed), len(guids))
    page = {"serial": pointer["serial"], "more": True}
    while page["more"]:
        page = read_changes(run, page["serial"], feed=pointer["feed"])
        for change in page["changes"]:
            if change["kind"] == "mod":
                (guids.discard if change["what"] == "deleted" else guids.add)(change["guid"].lower())
    require_equal("the catalogue", sorted(_public_guids(run)), sorted(guids))


@follow_check("C-SYNC-14")
def no_snapshot_has_a_mod_that_was_deleted(run: Run) -> None:
    """But for ten minutes, until there is a new one. An unknown snapshot, and what is no digest, is 404."""
    for name in ("0" * 64, "no-digest"):
        run.service.get(f"/Modhub/snapshot/{name}").expect(404)
    pointer = _snapshot(run)
    reply = run.service.get("/api/modhub/snapshot").expect(200)
    now = parsedate_to_datetime(reply.header("Date"))
    deleted = {change["guid"].lower(): datetime.fromisoformat(change["at"]) for change in _deletions(run)}
    for guid in _guids_of(_snapshot_content(run, pointer)):
        age = now - deleted.get(guid, now)
        require(age <= _LONGEST, f"the snapshot has {guid}, which was deleted {age} ago.")


@follow_check("C-SYNC-13")
def a_signature_has_a_public_key(run: Run) -> None:
    """Without a key it is null, and the address of the key 404."""
    signature = _snapshot(run)["signature"]
    key = run.service.get("/api/modhub/snapshot/key")
    require_equal("the status of the key's address", 404 if signature is None else 200, key.status)
    if signature is not None:
        require_equal("algorithm", "Ed25519", key.document()["algorithm"])
