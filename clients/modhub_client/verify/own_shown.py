"""Part ``own``: pages, feeds, archives and look-ups of the published mod."""

import html
import io
import json
import re
import zipfile

from modhub_client.verify.outcomes import Broken
from modhub_client.verify.own_hidden import changes_of, note_serial
from modhub_client.verify.own_public import single
from modhub_client.verify.owner import own_check
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import Run, find_asset


@own_check("C-UP-15", "C-MOD-3", "C-PAGE-1")
def _the_page_of_a_mod_shows_text_as_text(run: Run) -> None:
    """Title and caption have markup; its css is not used."""
    mod, _ = single(run)
    page = run.service.get(f"/Modhub/{mod.id}").expect(200)
    require(html.escape(mod.title, quote=False) in page.text, "The page of a mod does not show its title as text.")
    for markup in ("<i>Ångström</i>", f"<b>{mod.owner.nonce}</b>"):
        require(markup not in page.text, f"The page of a mod has what its owner wrote as markup: {markup}")
    css = find_asset(mod.public, "css")["url"]
    require(not re.search(f"<(?:link|style)[^>]*{css}", page.text), "The page of a mod uses its css.")
    listed = run.service.get(f"/Modhub?q={mod.owner.nonce}").expect(200).text
    require(f"/Modhub/{mod.id}" in listed, "Browse does not show a published mod.")
    require("<i>Ångström</i>" not in listed, "Browse has a title as markup.")


@own_check("C-PAGE-24", added=True)
def _the_page_of_a_mod_names_its_guid_and_digest(run: Run) -> None:
    """Of the file that is served."""
    mod, _ = single(run)
    page = run.service.get(f"/Modhub/{mod.id}").expect(200).text
    require(mod.guid in page, "The page of a mod does not show its GUID.")
    require(mod.digest in page, "The page of a mod does not show the SHA-256 of its file.")


@own_check("C-PAGE-17", added=True)
def _the_feeds_of_a_mod_have_its_versions(run: Run) -> None:
    """As many in both."""
    mod, _ = single(run)
    atom = run.service.get(f"/Modhub/{mod.id}/feed").expect(200)
    items = run.service.get(f"/Modhub/{mod.id}/feed.json").expect(200).document()["items"]
    require(items, "The feed of a mod is empty.")
    require_equal("entries of both feeds", len(items), atom.text.count("<entry>"))


@own_check("C-PAGE-37", "C-PAGE-39", added=True)
def _the_page_of_an_author_has_the_published_mod(run: Run) -> None:
    """And so has the feed."""
    mod, _ = single(run)
    author = f"/Modhub/by/{mod.owner.account_id}"
    page = run.service.get(author).expect(200).text
    require(f"/Modhub/{mod.id}" in page, "The page of an author has not the published mod.")
    feed = run.service.get(f"{author}/feed.json").expect(200).text
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
