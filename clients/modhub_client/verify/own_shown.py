"""Part ``own``: feeds, archives and look-ups of the published mod."""

import io
import json
import zipfile

from modhub_client.verify.outcomes import Broken
from modhub_client.verify.own_hidden import changes_of, note_serial
from modhub_client.verify.own_public import single
from modhub_client.verify.owner import own_check
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import Run


@own_check("C-PAGE-17", added=True)
def _the_feeds_of_a_mod_have_its_versions(run: Run) -> None:
    """As many in both."""
    mod, _ = single(run)
    atom = run.service.get(f"/Modhub/{mod.id}/feed").expect(200)
    items = run.service.get(f"/Modhub/{mod.id}/feed.json").expect(200).document()["items"]
    require(items, "The feed of a mod is empty.")
    require_equal("entries of both feeds", len(items), atom.text.count("<entry>"))


@own_check("C-PAGE-39", added=True)
def _the_feed_of_an_author_has_the_published_mod(run: Run) -> None:
    mod, _ = single(run)
    feed = run.service.get(f"/Modhub/by/{mod.owner.account_id}/feed.json").expect(200).text
    require(f"/Modhub/{mod.id}" in feed, "The feed of an author has not the published mod.")


@own_check("C-SYNC-1", "C-SYNC-16", feature="modhub_sync", added=True)
def _a_published_mod_is_known_by_its_guid(run: Run) -> None:
    """With the answer of its single read."""
    mod, reply = single(run)
    for guid in (mod.guid, mod.guid.upper()):
        known = run.service.get(f"/api/modhub/guid/{guid}").expect(200)
        require_equal("a mod by its GUID", reply.body, known.body)
        known.expect_header("ETag", reply.header("ETag"))
    answer = run.service.post_json("/api/modhub/lookup", {"guids": [mod.guid, mod.other["guid"]]}).document()
    mods = [entry["id"] for entry in answer["mods"]]
    require_equal("a look-up", ([mod.id], [mod.other["guid"]]), (mods, answer["missing"]))


@own_check("C-SYNC-3", "C-SYNC-9", "C-SYNC-11", feature="modhub_sync", added=True)
def _plans_and_updates_know_a_published_mod(run: Run) -> None:
    """By the digest of its file."""
    mod, _ = single(run)
    for digest, changed in ((mod.digest, []), ("0" * 64, [mod.guid])):
        have = {"have": [{"guid": mod.guid, "sha256": digest}]}
        answer = run.service.post_json("/api/modhub/updates", have).expect(200).document()
        require_equal("an update check", changed, [entry["guid"] for entry in answer["changed"]])
    plan = run.service.post_json("/api/modhub/plan", {"want": [mod.guid]}).expect(200).document()
    require_equal("the steps of a plan", [(mod.guid, "install")], [(s["guid"], s["action"]) for s in plan["steps"]])
    require_equal("missing", [mod.other["guid"]], [entry["guid"] for entry in plan["missing"]])
    require_equal("the digest in a lock", mod.digest, plan["lock"]["entries"][0]["sha256"])


@own_check("C-SYNC-5", "C-SYNC-25", feature="modhub_sync", added=True)
def _a_published_mod_is_one_change(run: Run) -> None:
    """However often it was changed."""
    note_serial(run)
    mod, _ = single(run)
    changes = changes_of(run, mod.guid)
    require_equal("changes of a published mod", 1, len(changes))
    require(changes[0]["what"] in {"published", "file"}, f"what: came {changes[0]['what']}.")
    require_equal("the id of a change", mod.id, changes[0]["id"])


@own_check("C-PAGE-60", "C-PAGE-61", added=True)
def _the_archive_of_a_published_mod_has_its_file(run: Run) -> None:
    """409 while a required mod is missing."""
    mod, _ = single(run)
    reply = run.service.get(f"/Modhub/{mod.id}/everything.zip")
    # A required mod that is missing.
    reply.expect(409)
    mod.owner.call("PUT", mod.path(), {"requires": []}).expect(200)
    reply = run.service.get(f"/Modhub/{mod.id}/everything.zip").expect(200)
    try:
        opened = zipfile.ZipFile(io.BytesIO(reply.body))
    except zipfile.BadZipFile:
        raise Broken(f"{reply.call}: the body is no zip archive.") from None
    with opened as archive:
        index = json.loads(archive.read("index.json"))
        require_equal("mods of an archive", [mod.guid], [entry["guid"] for entry in index["mods"]])
        require_equal("the file in an archive", mod.content, archive.read(archive.namelist()[1]))
        stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
        require(stored, "An archive compresses its members.")
