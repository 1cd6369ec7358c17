"""A mod with all that it requires as one archive, and the searches that only pages have."""

import hashlib
import io
import json
import zipfile
from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.outcomes import Broken, Skipped
from modhub_client.verify.replies import Reply, require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run

_LARGEST_ARCHIVE: Final = 8 * 1024 * 1024


def _head_of_archive(run: Run) -> Reply:
    """Of a mod that requires others; `Skipped` without one, or if its archive cannot be made."""
    mod = run.find_mod("a requirement", lambda mod: mod["requires"])
    for candidate in (mod, *(other for other in run.mods if other["requires"])):
        reply = run.service.head(f"/Modhub/{candidate['id']}/everything.zip").expect(200, 409)
        if reply.status == 200:
            return reply
    raise Skipped("no mod that requires others can be had as a whole")


@check("C-PAGE-60", "C-PAGE-62", part="read", added=True)
def everything_is_a_zip_with_a_length(run: Run) -> None:
    """For a mod that requires others: no ranges, a weak ``ETag``; 404 for what is not published."""
    run.service.head(f"/Modhub/{UNKNOWN_ID}/everything.zip").expect(404)
    reply = _head_of_archive(run)
    reply.expect_header("Content-Type", "application/zip").expect_header("Accept-Ranges", "none")
    require(reply.header("Content-Length").isdigit(), f"{reply.call}: no Content-Length.")
    etag = reply.header("ETag")
    require(etag.startswith('W/"'), f"{reply.call}: the ETag is {etag!r}.")
    run.service.get(reply.path, if_none_match=etag).expect(304)


@check("C-PAGE-61", part="read", added=True)
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
    single = run.service.get(f"/api/modhub/{path.split('/')[2]}").expect(200).document()
    order = [mod["guid"].lower() for mod in single["install"]]
    require_equal("the order of the archive", order, [entry["guid"].lower() for entry in index["mods"]])
