"""Part ``own``: a deleted mod is gone everywhere, and nothing of it is given out again."""

from modhub_client.verify.own_hidden import changes_of, note_serial, require_hidden
from modhub_client.verify.own_mod import mod_of
from modhub_client.verify.owner import error_of, own_check
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import Run


@own_check("C-OWN-11")
def _a_deleted_mod_is_gone(run: Run) -> None:
    """From every address, and from the list of its owner."""
    mod = mod_of(run)
    _ = mod.publish()
    mod.delete().expect(204)
    require_equal("the body of a deletion", b"", mod.delete().body)
    for rest in ("", "/changelog", "/download", "/vote", "/captions"):
        run.service.get(mod.path(rest)).expect(404)
    require_equal("the deleted mod in the list of own mods", {}, mod.now())
    for method, value in (("PUT", {}), ("DELETE", None)):
        mod.owner.call(method, mod.path(), value).expect(401)


@own_check("C-FILE-7")
def _the_files_of_a_deleted_mod_are_gone(run: Run) -> None:
    for asset in mod_of(run).gone["assets"]:
        run.service.get(asset["url"]).expect(404)


@own_check("C-LIST-1")
def _no_list_counts_a_deleted_mod(run: Run) -> None:
    """Searched for by its own words and games."""
    mod = mod_of(run)
    _ = mod.gone
    for query in (f"q={mod.owner.nonce}", f"game=Game+{mod.owner.nonce}", "size=100"):
        reply = require_hidden(mod, run.service.get(f"/api/modhub?{query}").expect(200))
        if mod.owner.nonce in query:
            require_equal(f"total of {query}", 0, reply.document()["total"])


@own_check("C-PAGE-13", "C-PRO-2")
def _no_page_shows_a_deleted_mod(run: Run) -> None:
    """Its own one is 404."""
    mod = mod_of(run)
    _ = mod.gone
    require_hidden(mod, run.service.get(f"/Modhub/{mod.id}").expect(404))
    for path in ("/Modhub", "/Modhub?sort=new", "/sitemap.xml"):
        require_hidden(mod, run.service.get(path))


@own_check("C-PAGE-18", added=True)
def _the_feed_of_the_list_says_that_a_mod_is_deleted(run: Run) -> None:
    """And has no entry of it."""
    mod = mod_of(run)
    _ = mod.gone
    feed = run.service.get("/Modhub/feed.json").expect(200).document()
    entries = [item for item in feed["items"] if mod.owner.nonce in str(item)]
    require_equal("entries of a deleted mod", [], entries)
    deleted = str(feed.get("_modhub", {}).get("deleted", []))
    require(mod.guid in deleted or f"/Modhub/{mod.id}" in deleted, "The feed does not say that the mod is deleted.")


@own_check("C-SYNC-5", feature="modhub_sync", added=True)
def _the_change_of_a_deleted_mod_is_its_deletion(run: Run) -> None:
    note_serial(run)
    mod = mod_of(run)
    _ = mod.gone
    changes = changes_of(run, mod.guid)
    require_equal("changes of a deleted mod", ["deleted"], [change["what"] for change in changes])
    require("id" not in changes[0], "The change of a deleted mod has an id.")


@own_check("C-SYNC-1", "C-SYNC-16", feature="modhub_sync", added=True)
def _the_guid_of_a_deleted_mod_is_unknown(run: Run) -> None:
    mod = mod_of(run)
    _ = mod.gone
    run.service.get(f"/api/modhub/guid/{mod.guid}").expect(404)
    answer = run.service.post_json("/api/modhub/lookup", {"guids": [mod.guid]}).expect(200).document()
    require_equal("missing", [mod.guid], answer["missing"])


@own_check("C-DL-6", feature="modhub_downloads", added=True)
def _the_downloads_of_a_deleted_mod_are_gone(run: Run) -> None:
    mod = mod_of(run)
    _ = mod.gone
    run.service.get(mod.path("/downloads")).expect(404)


@own_check("C-MOD-2")
def _no_number_or_guid_is_given_out_again(run: Run) -> None:
    """The next mod has greater ones, also when the newest of all was deleted."""
    mod = mod_of(run)
    gone = mod.gone
    for _ in range(2):
        reply = mod.owner.create({})
        require(reply.status == 201, f"POST /api/modhub: came {reply.status} {error_of(reply)}.")
        new = reply.document()
        require(new["id"] > gone["id"], f"The number of a deleted mod is given out again: {new['id']}.")
        require(new["guid"].lower() != gone["guid"].lower(), "The GUID of a deleted mod is given out again.")
        mod.owner.remove(new["id"]).expect(204)
        gone = new
