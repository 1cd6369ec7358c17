"""Part ``own``: files, images and changelog entries of a draft."""

import hashlib
from urllib.parse import quote

from modhub_client.verify.checks import own_check
from modhub_client.verify.own_mod import PNG, mod_of
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import Run, find_asset
from modhub_client.verify.shapes import ASSET, NOTE, described_answer, require_shape

CSS_LIMIT = 256 * 1024
IMAGE_LIMIT = 2 * 1024 * 1024


@own_check("C-UP-1")
def _an_upload_is_the_file_itself(run: Run) -> None:
    """No form, no encoding."""
    mod = mod_of(run)
    form = b'--x\r\nContent-Disposition: form-data; name="f"\r\n\r\nx\r\n--x--\r\n'
    mod.upload("css", form, **{"Content-Type": "multipart/form-data; boundary=x"}).expect_error(400)
    mod.upload("css", b"x", **{"Content-Encoding": "gzip"}).expect_error(400)
    require_equal("files after refused uploads", [], mod.draft["assets"] and mod.read_files())


@own_check("C-UP-1", added=True)
def _the_text_of_a_file_is_no_file(run: Run) -> None:
    """What programs send that have made text of theirs."""
    mod = mod_of(run)
    for sent in (b"{}", b" {}\n", b"[object Blob]"):
        mod.upload("code", sent, "name=a.zip&version=text").expect_error(400)


@own_check("C-UP-3")
def _a_code_file_needs_a_version(run: Run) -> None:
    """Spaces are none, and 65 characters are cut."""
    mod = mod_of(run)
    for query in ("name=a.zip", "name=a.zip&version=", "name=a.zip&version=%20%09"):
        mod.upload("code", b"x", query).expect_error(400)
    require_equal("files after uploads without a version", {}, find_asset(mod.now(), "code"))
    version = mod.upload("code", b"x", f"version=%20{'v' * 65}%20").expect_document(201)["version"]
    require_equal("a version of 65 characters", "v" * 64, version)


@own_check("C-UP-2", "C-UP-4", "C-UP-5")
def _a_version_is_used_once(run: Run) -> None:
    """The refusal says what it stored; the upload writes one entry, css and all other calls none."""
    mod = mod_of(run)
    content = b"first"
    sent = mod.upload("code", content, "name=a.zip&version=1.0").expect_document(201)
    require_equal("version after an upload", "1.0", sent["version"])
    refused = mod.upload("code", b"other", "name=a.zip&version=1.0").expect_error(409, "version_used")
    require_equal("the version of a refused upload", "1.0", refused.get("version"))
    require_equal("bytes of what the version stored", len(content), refused.get("bytes"))
    require_equal("sha256 of what the version stored", hashlib.sha256(content).hexdigest(), refused.get("sha256"))
    notes = mod.call("GET", "/notes").document()["notes"]
    entries = [note for note in notes if note["title"] == "1.0"]
    require_equal("entries of a version", 1, len(entries))
    require_equal("automatic of an entry that the upload wrote", True, entries[0]["automatic"])
    count = len(notes)
    mod.upload("css", b"a {}", "name=a.css").expect(201)
    mod.upload("css", b"b {}", "name=a.css").expect(201)
    mod.call("POST", "/changelog", {"title": "x", "text": "x"}).expect(405)
    require_equal("entries after css", count, mod.call("GET", "/notes").document()["count"])


@own_check("C-UP-2", "C-MOD-12")
def _a_second_file_replaces_the_first_and_images_gather(run: Run) -> None:
    """At the same address; code, css, images."""
    mod = mod_of(run)
    mod.upload("css", b"first {}", "name=one.css").expect(201)
    first = find_asset(mod.now(), "css")
    second = find_asset(mod.upload("css", b"second {}", "name=two.css").expect_document(201), "css")
    require_equal("the address of a replaced file", first["url"], second["url"])
    require_equal("name and size of a replaced file", ("two.css", 9), (second["name"], second["bytes"]))
    mod.upload("code", b"x", "name=x.zip&version=six").expect(201)
    before = sum(asset["kind"] == "image" for asset in mod.now()["assets"])
    for _ in range(2):
        after = mod.upload("images", PNG, "name=i.png").expect_document(201)
    kinds = [asset["kind"] for asset in after["assets"]]
    require_equal("kinds of the assets", ["code", "css"] + ["image"] * (before + 2), kinds)
    for asset in after["assets"]:
        require_shape("an asset", ASSET, asset)
        require(asset["url"].startswith("/Modhub/file/"), f"the address of an asset: came {asset['url']}.")


@own_check("C-UP-7")
def _a_name_is_its_last_part(run: Run) -> None:
    """Without control characters, 255 at most, never empty."""
    mod = mod_of(run)
    for sent, expected in (
        ("../../etc/passwd", "passwd"),
        ("C:\\mods\\a.css", "a.css"),
        ("a\x07b\n.css", "ab.css"),
        ("n" * 300, "n" * 255),
    ):
        asset = find_asset(mod.upload("css", b"a {}", f"name={quote(sent, safe='')}").expect_document(201), "css")
        require_equal(f"the name of {sent!r}", expected, asset["name"])
    for query in ("", "name=", "name=..", "name=."):
        asset = find_asset(mod.upload("css", b"a {}", query).expect_document(201), "css")
        require(asset["name"] not in {"", ".", ".."}, f"the name of an upload with {query!r}: came {asset['name']!r}.")


@own_check("C-UP-1")
def _an_empty_file_is_refused(run: Run) -> None:
    mod = mod_of(run)
    for kind, query in (("css", "name=a.css"), ("images", "name=a.png"), ("code", "name=a.zip&version=empty")):
        mod.upload(kind, b"", query).expect_error(400)


@own_check("C-UP-11", "C-TXT-7")
def _a_file_over_its_limit_is_refused_and_not_kept(run: Run) -> None:
    """Css of 256 KB is taken, one byte more is not; nor an image over 2 MB."""
    mod = mod_of(run)
    whole = mod.upload("css", b" " * CSS_LIMIT, "name=limit.css").expect_document(201)
    for kind, limit in (("css", CSS_LIMIT), ("images", IMAGE_LIMIT)):
        body = mod.upload(kind, b" " * (limit + 1), "name=large").expect_error(413)
        require_equal(f"limitBytes of {kind}", limit, body.get("limitBytes"))
    require_equal("assets after refused uploads", whole["assets"], mod.now()["assets"])


@own_check("C-OWN-40", added=True)
def _the_files_of_a_draft_have_digests(run: Run) -> None:
    """In the order of the assets."""
    mod = mod_of(run)
    mod.upload("css", b"digest {}", "name=d.css").expect(201)
    answer = described_answer(run, "GET /api/modhub/{id}/files", mod.call("GET", "/files"))
    require_equal("count of the files", len(answer["files"]), answer["count"])
    file = next(file for file in answer["files"] if file["kind"] == "css")
    require_equal("sha256 of a file", hashlib.sha256(b"digest {}").hexdigest(), file["sha256"])
    order = [(asset["kind"], asset["name"]) for asset in mod.now()["assets"]]
    require_equal("the order of files", order, [(entry["kind"], entry["name"]) for entry in answer["files"]])


@own_check("C-UP-14")
def _an_image_can_be_deleted(run: Run) -> None:
    """By the call for images, other files not."""
    mod = mod_of(run)
    before = mod.upload("images", PNG, "name=short-lived.png").expect_document(201)
    number = before["assets"][-1]["url"].rpartition("/")[2]
    mod.call("DELETE", f"/images/{number}").expect(204)
    after = mod.now()
    require_equal("assets after the deletion", before["assets"][:-1], after["assets"])
    require(after["updatedAt"] > before["updatedAt"], "updatedAt does not move when an image is deleted.")
    css = find_asset(after, "css")
    if css:
        mod.call("DELETE", f"/images/{css['url'].rpartition('/')[2]}").expect(401)


@own_check("C-PIC-9", "C-PIC-21", added=True)
def _images_have_captions_and_an_order(run: Run) -> None:
    """Each image is named once, and no other."""
    mod = mod_of(run)
    for _ in range(2):
        mod.upload("images", PNG, "name=i.png").expect(201)
    images = [file["assetId"] for file in mod.read_files() if file["kind"] == "image"]
    sent = {"captions": [{"assetId": images[0], "caption": " A caption\n"}]}
    answer = mod.call("PUT", "/captions", sent).expect_document()
    captions = {entry["assetId"]: entry["caption"] for entry in answer["captions"]}
    require_equal("a caption", "A caption", captions[images[0]])
    require_equal("count of captions", len(images), answer["count"])
    for bad in ([{"assetId": 1, "caption": "x"}], sent["captions"] * 2):
        mod.call("PUT", "/captions", {"captions": bad}).expect_error(400)
    turned = images[::-1]
    ordered = mod.call("PUT", "/order", {"assetIds": turned}).expect_document()
    addresses = [asset["url"] for asset in ordered["assets"] if asset["kind"] == "image"]
    require_equal("the order of images", [f"/Modhub/file/{number}" for number in turned], addresses)
    for wrong in (turned[1:], [*turned, turned[0]], [*turned[1:], 1]):
        mod.call("PUT", "/order", {"assetIds": wrong}).expect_error(400)


@own_check("C-NOTE-1", "C-NOTE-3", "C-NOTE-4", "C-NOTE-20")
def _an_entry_can_be_edited(run: Run) -> None:
    """Before publication; it is cut, cleaned, cleared, and checked with its mod."""
    mod = mod_of(run)
    before = mod.upload("code", b"x", "name=x.zip&version=note").expect_document(201)
    answer = mod.call("GET", "/notes").expect_document()
    require_equal("count of the entries", len(answer["notes"]), answer["count"])
    newest = answer["notes"][0]
    require_shape("an entry", NOTE, newest)
    require_equal("title and editedAt of a new entry", ("note", None), (newest["title"], newest["editedAt"]))
    path = mod.path(f"/changelog/{newest['id']}")
    sent = {"title": "t" * 121, "text": "<p>text</p><script>x</script>" + "ä" * 4001}
    edited = mod.owner.call("PUT", path, sent).expect_document()
    require_equal("a title of 121 characters", "t" * 120, edited["title"])
    require(len(edited["text"]) <= 4000, f"A long text: expected at most 4000 characters, came {len(edited['text'])}.")
    require("script" not in edited["text"], "A script stays in an entry.")
    require_equal("automatic of an edited entry", False, edited["automatic"])
    require(edited["editedAt"], "editedAt of an edited entry is empty.")
    cleared = mod.owner.call("PUT", path, {"title": None, "text": ""}).expect_document()
    require_equal("a cleared entry", (None, ""), (cleared["title"], cleared["text"]))
    require_equal("updatedAt after the edit of an entry", before["updatedAt"], mod.now()["updatedAt"])
    mod.owner.call("PUT", f"/api/modhub/{mod.other['id']}/changelog/{newest['id']}", {}).expect(401)


@own_check("C-NOTE-4")
def _a_deleted_entry_frees_its_version(run: Run) -> None:
    """An edited title does not."""
    mod = mod_of(run)
    mod.upload("code", b"x", "name=x.zip&version=free").expect(201)
    note = mod.call("GET", "/notes").document()["notes"][0]
    path = mod.path(f"/changelog/{note['id']}")
    mod.owner.call("PUT", path, {"title": "renamed"}).expect(200)
    mod.upload("code", b"y", "name=x.zip&version=free").expect_error(409, "version_used")
    mod.owner.call("DELETE", path).expect(204)
    reply = mod.upload("code", b"z", "name=x.zip&version=free")
    require(reply.status == 201, f"A version whose entry was deleted: expected 201, came {reply.status}.")
    require_equal("error", "", reply.error)
