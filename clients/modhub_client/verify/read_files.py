"""Files: validators, digests, ranges, conditions, headers that keep them from doing harm; and archives of mods."""

import hashlib
import io
import json
import re
import zipfile
from base64 import b64encode
from collections.abc import Collection
from email.utils import parsedate_to_datetime
from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.replies import Broken, Reply, Skipped, require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run, find_asset

_WHOLE: Final = 4 * 1024 * 1024
"""Larger files are not downloaded as a whole."""
_STRANGER: Final = f'"{"0" * 64}"'


def _whole(run: Run) -> Reply:
    if run.code_file["bytes"] > _WHOLE:
        raise Skipped("every code file is larger than 4 MB")
    return run.service.get(run.code_file["url"]).expect(200)


def _of_each_kind(run: Run) -> Collection[str]:
    """The addresses of a code file, a css file and an image, as far as there are any."""
    return {asset["kind"]: asset["url"] for mod in run.mods for asset in mod["assets"]}.values()


def _ranged(run: Run, header: str, **more: str) -> Reply:
    return run.service.get(run.code_file["url"], range=header, **more)


@check("C-FILE-1", "C-PRO-1", added=True)
def a_file_has_its_digest_as_etag(run: Run) -> None:
    """The SHA-256 of what arrives, in ``ETag`` and in ``Repr-Digest``, of the size that the mod names."""
    reply = _whole(run)
    digest = hashlib.sha256(reply.body)
    require_equal(f"the size of {reply.call}", run.code_file["bytes"], len(reply.body))
    reply.expect_header("ETag", f'"{digest.hexdigest()}"')
    reply.expect_header("Repr-Digest", f"sha-256=:{b64encode(digest.digest()).decode()}:")


@check("C-FILE-1", added=True)
def a_file_has_a_date_and_takes_ranges(run: Run) -> None:
    """``Last-Modified`` is not in the future."""
    head = run.a_file.expect_header("Accept-Ranges", "bytes")
    modified = parsedate_to_datetime(head.header("Last-Modified"))
    require(modified <= parsedate_to_datetime(head.header("Date")), f"{head.call}: Last-Modified is in the future.")
    require("/" in head.media_type, f"{head.call}: no Content-Type.")


@check("C-FILE-2", added=True)
def a_single_range_is_206(run: Run) -> None:
    """From the beginning, from the middle, from the end, to beyond the end; 416 behind that says how large it is."""
    size = run.code_file["bytes"]
    _ranged(run, f"bytes={size}-").expect(416).expect_header("Content-Range", f"bytes */{size}")
    middle = size // 2
    cases = {
        f"bytes=0-{middle}": (0, min(middle, size - 1)),
        f"bytes={middle}-": (middle, size - 1),
        "bytes=-1": (size - 1, size - 1),
        f"bytes={size - 1}-{size + 100}": (size - 1, size - 1),
    }
    content = _whole(run).body
    for header, (first, last) in cases.items():
        reply = _ranged(run, header).expect(206)
        reply.expect_header("Content-Range", f"bytes {first}-{last}/{size}")
        require(reply.body == content[first : last + 1], f"{reply.call}: {header} has other bytes than the file.")
        require_equal(f"ETag of {header}", run.a_file.header("ETag"), reply.header("ETag"))


@check("C-FILE-2", added=True)
def if_range_continues_the_same_file_only(run: Run) -> None:
    """Another ``ETag`` and a date get the whole file."""
    etag, modified = run.a_file.header("ETag"), run.a_file.header("Last-Modified")
    _ranged(run, "bytes=0-0", if_range=etag).expect(206)
    if run.code_file["bytes"] > _WHOLE:
        return
    for condition in (_STRANGER, f"W/{etag}", modified):
        reply = _ranged(run, "bytes=0-0", if_range=condition).expect(200)
        require_equal(f"the size with If-Range: {condition}", run.code_file["bytes"], len(reply.body))


@check("C-HTTP-8", added=True)
def unreadable_ranges_and_conditions_are_ignored(run: Run) -> None:
    """The whole comes, of a file and of a read, which has no ranges at all."""
    conditions = [
        ("if_none_match", "not quoted"),
        ("if_none_match", "W/"),
        ("if_none_match", '"\x80'),
        ("if_modified_since", "yesterday"),
        ("if_unmodified_since", "99 Nov"),
    ]
    ranges = [("range", value) for value in ("bytes=9-1", "bytes=one-two", "lines=1-2", "bytes=0-0,2-3")]
    for whole, odd in (
        (_whole(run), [*conditions, *ranges]),
        (run.service.get("/api/modhub/games").expect(200), [*conditions, ("range", "bytes=0-1")]),
    ):
        for name, value in odd:
            reply = run.service.get(whole.path, **{name: value}).expect(200)
            require(reply.body == whole.body, f"{reply.call} with {name}: {value!r}: came other bytes.")


@check("C-FILE-1", added=True)
def a_file_that_is_known_is_304(run: Run) -> None:
    """By ``ETag``, and by date."""
    etag, modified = run.a_file.header("ETag"), run.a_file.header("Last-Modified")
    for header in ({"if_none_match": etag}, {"if_none_match": f'"x", {etag}'}, {"if_modified_since": modified}):
        reply = run.service.get(run.code_file["url"], **header).expect(304)
        require_equal(f"the body of {reply.call} with {header}", b"", reply.body)
    require_equal(
        "a file with another ETag", 200, run.service.head(run.code_file["url"], if_none_match=_STRANGER).status
    )


@check("C-FILE-2", added=True)
def another_file_than_the_one_meant_is_412(run: Run) -> None:
    """``If-Match`` with its digest, or ``*``, gets it."""
    etag = run.a_file.header("ETag")
    run.service.get(run.code_file["url"], if_match=_STRANGER).expect(412)
    _ranged(run, "bytes=0-0", if_match=_STRANGER).expect(412)
    for condition in (etag, "*"):
        _ranged(run, "bytes=0-0", if_match=condition).expect(206)


@check("C-FILE-3", added=True)
def a_file_is_sandboxed_and_never_sniffed(run: Run) -> None:
    """One of each kind, and a download."""
    for path in (*_of_each_kind(run), f"/api/modhub/{run.code_mod['id']}/download"):
        head = run.service.head(path).expect(200).expect_header("X-Content-Type-Options", "nosniff")
        policy = head.header("Content-Security-Policy")
        require(
            "sandbox" in re.split(r"[;\s]+", policy), f"{head.call}: expected sandbox in the policy, came {policy!r}."
        )


@check("C-FILE-6", added=True)
def our_own_pages_cannot_run_a_file(run: Run) -> None:
    """As script, style or worker; overlays elsewhere may."""
    for path in _of_each_kind(run):
        for kind in ("script", "style", "worker"):
            run.service.head(path, sec_fetch_site="same-origin", sec_fetch_dest=kind).expect(403)
            run.service.head(path, sec_fetch_site="cross-site", sec_fetch_dest=kind).expect(200)
        run.service.head(path, service_worker="script").expect(403)


@check("C-HTTP-12", added=True)
def stored_files_are_never_compressed(run: Run) -> None:
    """Nor ranges of them."""
    whole = run.service.head(run.code_file["url"], accept_encoding="gzip")
    for reply in (whole, _ranged(run, "bytes=0-9", accept_encoding="gzip")):
        require_equal(f"Content-Encoding of {reply.call}", "", reply.header("Content-Encoding"))


@check("C-HTTP-2", "C-HTTP-10", added=True)
def pages_of_other_sites_may_use_files(run: Run) -> None:
    """And read why they got none."""
    for reply in (run.a_file, run.service.head(f"/Modhub/file/{UNKNOWN_ID}").expect(404)):
        reply.expect_header("Access-Control-Allow-Origin", "*")
        reply.expect_header("Cross-Origin-Resource-Policy", "cross-origin")


@check("C-PIC-1", added=True)
def an_image_has_small_pictures(run: Run) -> None:
    """By its width alone: WebP for who takes that, else JPEG; the image itself while there is none; else one 404."""
    mod = run.find_mod("an image", lambda mod: find_asset(mod, "image"))
    address = find_asset(mod, "image")["url"]
    number, image = address.rpartition("/")[2], run.service.head(address).expect(200)
    for width in (320, 640, 1280):
        for kind in ("image/webp", "image/jpeg"):
            head = run.service.head(f"/Modhub/picture/{number}/{width}", accept=kind).expect(200)
            head.expect_header("Access-Control-Allow-Origin", "*").expect_named("Vary", "Accept")
            if head.header("ETag") == image.header("ETag"):
                head.expect_named("Cache-Control", "no-cache")
            else:
                require_equal(f"the type of {head.call}", kind, head.media_type)
    code = run.code_file["url"].rpartition("/")[2]
    for path in (f"{number}/321", f"{number}/0320", f"{code}/320", f"{UNKNOWN_ID}/320"):
        run.service.get(f"/Modhub/picture/{path}").expect(404)


_LARGEST_ARCHIVE: Final = 8 * 1024 * 1024


def _head_of_archive(run: Run) -> Reply:
    """Of a mod that requires others; `Skipped` without one, or if its archive cannot be made."""
    mod = run.find_mod("a requirement", lambda mod: mod["requires"])
    for candidate in (mod, *(other for other in run.mods if other["requires"])):
        reply = run.service.head(f"/Modhub/{candidate['id']}/everything.zip").expect(200, 409)
        if reply.status == 200:
            return reply
    raise Skipped("no mod that requires others can be had as a whole")


@check("C-PAGE-60", "C-PAGE-62", added=True)
def everything_is_a_zip_with_a_length(run: Run) -> None:
    """For a mod that requires others: no ranges, a weak ``ETag``; 404 for what is not published."""
    run.service.head(f"/Modhub/{UNKNOWN_ID}/everything.zip").expect(404)
    reply = _head_of_archive(run)
    reply.expect_header("Content-Type", "application/zip").expect_header("Accept-Ranges", "none")
    require(reply.header("Content-Length").isdigit(), f"{reply.call}: no Content-Length.")
    etag = reply.header("ETag")
    require(etag.startswith('W/"'), f"{reply.call}: the ETag is {etag!r}.")
    run.service.get(reply.path, if_none_match=etag).expect(304)


@check("C-PAGE-61", added=True)
def everything_has_an_index_and_the_files_as_they_are(run: Run) -> None:
    """Stored, in the order of ``install``, with the digests that the index names."""
    head = _head_of_archive(run)
    if int(head.header("Content-Length") or 0) > _LARGEST_ARCHIVE:
        raise Skipped("the archive is larger than 8 MB")
    reply = run.service.get(head.path).expect(200)
    require_equal(f"the size of {reply.call}", head.header("Content-Length"), str(len(reply.body)))
    try:
        with zipfile.ZipFile(io.BytesIO(reply.body)) as archive:
            stored = all(member.compress_type == zipfile.ZIP_STORED for member in archive.infolist())
            contents = [(name, archive.read(name)) for name in archive.namelist()]
    except zipfile.BadZipFile as problem:
        raise Broken(f"{reply.call}: no zip archive ({problem}).") from None
    require(stored, f"{reply.call}: a member is compressed.")
    require_equal(f"the first member of {reply.call}", "index.json", contents[0][0])
    _check_members(run, head.path, json.loads(contents[0][1]), contents[1:])


def _check_members(run: Run, path: str, index: dict[str, Any], files: list[tuple[str, bytes]]) -> None:
    require_equal("count of the index", (len(files), len(files)), (index["count"], len(index["mods"])))
    for entry, (name, content) in zip(index["mods"], files, strict=True):
        require_equal("the name of a member", entry["name"], name)
        digest = hashlib.sha256(content).hexdigest()
        require_equal(f"size and SHA-256 of {name}", (entry["bytes"], entry["sha256"]), (len(content), digest))
    single = run.service.read(f"/api/modhub/{path.split('/')[2]}")
    order = [mod["guid"].lower() for mod in single["install"]]
    require_equal("the order of the archive", order, [entry["guid"].lower() for entry in index["mods"]])
