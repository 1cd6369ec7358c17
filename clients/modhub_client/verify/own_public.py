"""Part ``own``: the mod while everybody sees it, in the API, as files, feeds and archives; and after its deletion."""

from unicodedata import normalize
from urllib.parse import quote

from modhub_client.verify.checks import own_check
from modhub_client.verify.follow_plans import put_question
from modhub_client.verify.own_access import changes_of, note_serial, require_hidden
from modhub_client.verify.own_mod import CODE_NAME, PNG, OwnMod, mod_of
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import Run, find_asset


@own_check("C-OWN-8")
def _a_draft_is_published_once_it_has_a_code_file(run: Run) -> None:
    """Without one it is 409; a second time changes nothing, and nothing takes it back."""
    mod = mod_of(run)
    mod.owner.call("POST", f"/api/modhub/{mod.other['id']}/publish").expect_error(409)
    published = mod.publish().expect_document()
    require_equal("published after publishing", True, published["published"])
    again = mod.call("POST", "/publish").expect_document()
    require_equal("the mod after it was published twice", published, again)
    mod.call("PUT", "", {"published": False}).expect(200)
    for method in ("DELETE", "PUT"):
        mod.call(method, "/publish").expect(405)
    run.service.get(mod.path()).expect(200)


def published(run: Run) -> OwnMod:
    """The mod, which everybody sees."""
    mod = mod_of(run)
    _ = mod.public
    return mod


@own_check("C-READ-1", "C-READ-2", "C-READ-6", "C-READ-8", "C-PRO-1")
def _everybody_reads_the_published_mod(run: Run) -> None:
    """With what its owner wrote, and its changelog, newest first. ``install`` lacks the draft that it requires."""
    mod = published(run)
    body, stored = run.service.read(mod.path()), mod.now()
    for name in ("id", "guid", "title", "description", "games", "requires", "assets", "version"):
        require_equal(name, stored[name], body[name])
    require_equal("title", mod.title, body["title"])
    require_equal("install", [mod.id], [entry["id"] for entry in body["install"]])
    require_equal("missing", [mod.other["guid"]], body["missing"])
    changelog = run.service.read(mod.path("/changelog"))
    require_equal("count of the entries", len(changelog["notes"]), changelog["count"])
    require_equal("the newest entry", "final", changelog["notes"][0]["title"])


@own_check("C-READ-9", "C-FILE-1", "C-FILE-5", "C-UP-10")
def _everybody_downloads_the_file_of_a_published_mod(run: Run) -> None:
    """At both addresses, with digest, stored type, and a name that is not ASCII."""
    mod = published(run)
    named = f"filename*=UTF-8''{quote(CODE_NAME)}".lower()
    for path in (mod.path("/download"), find_asset(mod.public, "code")["url"]):
        reply = run.service.get(path).expect(200).expect_header("ETag", f'"{mod.digest}"')
        require_equal("the file", mod.content, reply.body)
        require_equal("Content-Type of the file", "application/zip", reply.media_type)
        disposition = reply.header("Content-Disposition").lower()
        require(disposition.startswith("attachment") and disposition.isascii(), f"{reply.call}: came {disposition!a}.")
        require(named in disposition, "A name that is not ASCII has no filename*.")


@own_check("C-FILE-4")
def _an_image_that_is_a_page_is_an_attachment(run: Run) -> None:
    """Whatever its owner calls it; a real one is inline, as it was sent."""
    mod = published(run)
    mod.upload("images", b"<p>x</p>", "name=page.html", **{"Content-Type": "text/html"}).expect(201)
    page = next(file for file in mod.read_files() if file["name"] == "page.html")
    image = run.service.get(find_asset(mod.public, "image")["url"]).expect(200)
    replies = image, run.service.get(f"/Modhub/file/{page['assetId']}").expect(200)
    mod.call("DELETE", f"/images/{page['assetId']}").expect(204)
    require_equal("the image", PNG, image.body)
    came = [reply.header("Content-Disposition").partition(";")[0] for reply in replies]
    require_equal("dispositions of an image and of a page", ["inline", "attachment"], came)


@own_check("C-LIST-8", "C-LIST-5", "C-LIST-4", "C-LIST-7")
def _a_published_mod_is_found_by_its_words_and_games(run: Run) -> None:
    """Folded, as parts of words, by the whole name of a game; and among the last changed."""
    mod = published(run)
    nonce = mod.owner.nonce
    for query in (
        f"q={nonce.upper()}",
        f"q=angstrom+STRASSE+{nonce}",
        f"q={quote('ÅNGSTRÖM straße')}+{nonce[2:7]}",
        f"q={quote(normalize('NFD', 'ångström'))}+{nonce}",
        f"q=game+{nonce}",
        f"game=+game+{nonce.upper()}+",
        f"game=Game+{nonce}+2",
    ):
        body = run.service.read(f"/api/modhub?{query}")
        require_equal(f"mods of {query}", ([mod.id], 1), ([entry["id"] for entry in body["mods"]], body["total"]))
    for query in (f"q={nonce}+nowhere-{nonce}", f"game={nonce}", f"q=%25{nonce[1:]}"):
        body = run.service.read(f"/api/modhub?{query}")
        require_equal(f"mods of {query}", [], body["mods"])
    newest = [entry["id"] for entry in run.service.get("/api/modhub?size=20").document()["mods"]]
    require(mod.id in newest, "The mod that was just published is not among the last changed.")


@own_check("C-VOTE-1")
def _an_owner_cannot_vote(run: Run) -> None:
    """And there is no vote."""
    mod = published(run)
    mod.call("PUT", "/vote", {"value": 1}).expect_error(403)
    votes = run.service.read(mod.path("/vote"))
    require_equal("votes of a new mod", (0, 0), (votes["ups"], votes["downs"]))


@own_check("C-PIC-9", "C-OWN-18", added=True)
def _captions_are_read_and_a_draft_supersedes_nothing(run: Run) -> None:
    """Captions in the order of the images; the owner may name the draft as successor."""
    mod = published(run)
    captions = run.service.read(mod.path("/captions"))["captions"]
    require_equal("captions", [mod.caption, ""], [entry["caption"] for entry in captions])
    mod.call("PUT", "/superseded", {"by": mod.other["guid"]}).expect(200)
    require_equal("supersededBy of a draft", {"supersededBy": None}, run.service.read(mod.path("/superseded")))
    mod.call("PUT", "/superseded", {"by": None}).expect(200)


@own_check("C-UP-2")
def _a_new_version_is_served_at_the_same_address(run: Run) -> None:
    mod = published(run)
    path = find_asset(mod.public, "code")["url"]
    before = run.service.head(path).expect(200)
    mod.content = b"replaced by " + mod.content
    mod.upload("code", mod.content, "name=new.zip&version=newer").expect(201)
    after = run.service.get(path).expect(200)
    require_equal("the file after its replacement", mod.content, after.body)
    require(after.header("ETag") != before.header("ETag"), "ETag stays when a file is replaced.")
    require_equal("version after the replacement", "newer", run.service.get(mod.path()).document()["version"])


@own_check("C-PAGE-17", added=True)
def _the_feed_of_an_author_has_the_published_mod(run: Run) -> None:
    mod = published(run)
    feed = run.service.get(f"/Modhub/by/{mod.owner.account_id}/feed.json").expect(200).text
    require(f"/Modhub/{mod.id}" in feed, "The feed of an author has not the published mod.")


@own_check("C-SYNC-5", feature="modhub_sync", added=True)
def _a_published_mod_is_one_change(run: Run) -> None:
    """However often it was changed."""
    note_serial(run)
    mod = published(run)
    changes = changes_of(run, mod.guid)
    require_equal("changes of a published mod", 1, len(changes))
    require(changes[0]["what"] in {"published", "file"}, f"what: came {changes[0]['what']}.")
    require_equal("the id of a change", mod.id, changes[0]["id"])


@own_check("C-PAGE-60", "C-PAGE-62", added=True)
def _the_archive_of_a_published_mod_needs_all_mods(run: Run) -> None:
    """409 while a required one is missing."""
    mod = published(run)
    path = f"/Modhub/{mod.id}/everything.zip"
    run.service.get(path).expect(409)
    mod.call("PUT", "", {"requires": []}).expect(200)
    run.service.get(path).expect(200)


@own_check("C-OWN-11", "C-FILE-7")
def _a_deleted_mod_is_gone(run: Run) -> None:
    """From every address, its files too, and from the list of its owner."""
    mod = mod_of(run)
    assets = mod.publish().document().get("assets", [])
    mod.delete().expect(204)
    require_equal("the body of a deletion", b"", mod.delete().body)
    for path in (
        *map(mod.path, ("", "/changelog", "/download", "/vote", "/captions")),
        *(file["url"] for file in assets),
    ):
        run.service.get(path).expect(404)
    require_equal("the deleted mod in the list of own mods", {}, mod.now())
    for method, value in (("PUT", {}), ("DELETE", None)):
        mod.call(method, "", value).expect(401)


@own_check("C-LIST-1", "C-READ-1", "C-PRO-2")
def _no_list_and_no_page_shows_a_deleted_mod(run: Run) -> None:
    """Searched for by its own words and games; its own page is 404."""
    mod = mod_of(run)
    _ = mod.gone
    for query in (f"q={mod.owner.nonce}", f"game=Game+{mod.owner.nonce}", "size=100"):
        reply = require_hidden(mod, run.service.get(f"/api/modhub?{query}").expect(200))
        if mod.owner.nonce in query:
            require_equal(f"total of {query}", 0, reply.document()["total"])
    require_hidden(mod, run.service.get(f"/Modhub/{mod.id}").expect(404))
    for path in ("/Modhub", "/Modhub?sort=new", "/sitemap.xml"):
        require_hidden(mod, run.service.get(path))


@own_check("C-PAGE-18", added=True)
def _the_feed_of_the_list_says_that_a_mod_is_deleted(run: Run) -> None:
    """And has no entry of it."""
    mod = mod_of(run)
    _ = mod.gone
    feed = run.service.read("/Modhub/feed.json")
    entries = [item for item in feed["items"] if mod.owner.nonce in str(item)]
    require_equal("entries of a deleted mod", [], entries)
    deleted = str(feed.get("_modhub", {}).get("deleted", []))
    require(mod.guid in deleted or f"/Modhub/{mod.id}" in deleted, "The feed does not say that the mod is deleted.")


@own_check("C-SYNC-5", "C-SYNC-1", "C-SYNC-16", feature="modhub_sync", added=True)
def _the_change_of_a_deleted_mod_is_its_deletion(run: Run) -> None:
    """And its GUID is unknown."""
    note_serial(run)
    mod = mod_of(run)
    _ = mod.gone
    changes = changes_of(run, mod.guid)
    require_equal("changes of a deleted mod", ["deleted"], [change["what"] for change in changes])
    require("id" not in changes[0], "The change of a deleted mod has an id.")
    run.service.get(f"/api/modhub/guid/{mod.guid}").expect(404)
    require_equal("missing", [mod.guid], put_question(run, "lookup", guids=[mod.guid]).expect_document()["missing"])


@own_check("C-OWN-11", feature="modhub_downloads", added=True)
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
        require(reply.status == 201, f"POST /api/modhub: came {reply.status} {reply.error}.")
        new = reply.document()
        require(new["id"] > gone["id"], f"The number of a deleted mod is given out again: {new['id']}.")
        require(new["guid"].lower() != gone["guid"].lower(), "The GUID of a deleted mod is given out again.")
        mod.owner.remove(new["id"]).expect(204)
        gone = new
