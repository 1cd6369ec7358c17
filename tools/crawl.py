"""Records what a service shows to everybody, and compares two records: whether a change has changed any answer.

    crawl.py record http://127.0.0.1:6543 FOLDER    follows every address from the front, the API and the feeds
    crawl.py compare FOLDER FOLDER                  names what differs; exit code 1 if anything does

Both sides need the same data: one dump. With `--anew` it may have been made twice: GUIDs, times, digests do not count.
"""

import argparse
import difflib
import json
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final
from urllib.parse import urldefrag, urljoin

STARTS: Final = (
    *("/", "/Modhub", "/api/modhub", "/api/modhub?size=100&sort=top", "/api/modhub/games", "/api/modhub/app"),
    *("/api/openapi.json", "/api/modhub/changes?since=0", "/api/modhub/advisories", "/api/modhub/snapshot"),
    *("/Modhub/api/wiki", "/api/modhub/doc/wiki", "/robots.txt", "/sitemap.xml", "/healthz", "/Modhub/nothing"),
)
MOD_CALLS: Final = ("", "/changelog", "/downloads", "/vote", "/captions", "/links", "/tags", "/superseded", "/download")
HEADERS: Final = (
    *("content-type", "cache-control", "vary", "etag", "content-security-policy", "content-disposition", "location"),
    *("access-control-allow-origin", "accept-ranges", "repr-digest", "allow"),
)
MOST: Final = 20_000
LINK: Final = re.compile(r"""(?:href|src|action)="([^"]+)"|"(/(?:Modhub|api)[^"\\\s]*)"|<loc>([^<]+)""")
# What no two answers share: nonces, tokens, how long ago something was, and the tags of pages that show these.
ONCE: Final = re.compile(
    r"""nonce[=-]["']?[\w+/=-]+|name="csrf_token" value="[^"]*"|(?<=UTC")>[^<]+</time>|^etag: W/.*""", re.MULTILINE
)
ANEW: Final = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\b[0-9a-f]{16}(?:[0-9a-f]{48})?\b"
)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer as any other."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


def ask(url: str) -> tuple[int, dict[str, str], bytes]:
    """Status, the headers that count, and body."""
    try:
        answer = urllib.request.build_opener(NoRedirects).open(url, timeout=60)
    except urllib.error.HTTPError as refused:
        answer = refused
    with answer:
        return answer.status, {name: answer.headers[name] for name in HEADERS if name in answer.headers}, answer.read()


def record(base: str, folder: Path) -> int:
    """Follow all addresses of the service, and store one file for each; the exit code, 1 where one failed."""
    folder.mkdir()
    mods = json.loads(ask(f"{base}/api/modhub?size=100")[2])["mods"]
    paths = dict.fromkeys([*STARTS, *(f"/api/modhub/{mod['id']}{call}" for mod in mods for call in MOD_CALLS)])
    waiting, failed = [*paths], 0
    for number, path in enumerate(waiting):
        status, headers, body = ask(base + path)
        failed += status >= 500
        # An archive has the time at which it was made; a stored file has its digest in a header.
        is_archive = "zip" in headers.get("content-type", "")
        text = f"{len(body)} bytes" if is_archive else body.decode("utf-8", "surrogateescape")
        answer = {"path": path, "status": status, "headers": headers, "body": text.replace(base, "")}
        (folder / f"{number:05}.json").write_text(json.dumps(answer), "utf-8")
        links = LINK.findall(text) if re.match("text/html|application/(?!zip)", headers.get("content-type", "")) else []
        for link in links:
            target = urldefrag(urljoin(base + path, "".join(link).replace("&amp;", "&"))).url
            address = target.removeprefix(base)
            if target.startswith(base) and address not in paths and "logout" not in address and len(paths) < MOST:
                paths[address] = None
                waiting.append(address)
    sys.stdout.write(f"{len(paths)} addresses, {failed} with a fault of the service.\n")
    return 1 if failed else 0


def read_record(folder: Path, *, anew: bool) -> dict[str, str]:
    """What was recorded, as text by address, without what is never the same."""
    answers = {}
    for answer in (json.loads(file.read_text("utf-8")) for file in sorted(folder.iterdir())):
        headers = [f"{name}: {value}" for name, value in answer["headers"].items()]
        text = ONCE.sub("", "\n".join([str(answer["status"]), *headers, answer["body"]]))
        answers[ANEW.sub("*", answer["path"]) if anew else answer["path"]] = ANEW.sub("*", text) if anew else text
    return answers


def compare(first: Path, second: Path, *, anew: bool) -> int:
    """Print what differs; the exit code."""
    before, after = read_record(first, anew=anew), read_record(second, anew=anew)
    differing = [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]
    for path in differing:
        was, now = (side.get(path, "").splitlines() for side in (before, after))
        lines = list(difflib.unified_diff(was, now, lineterm="", n=0))[2:12]
        sys.stdout.write(f"{path}\n" + "".join(f"    {line[:300]}\n" for line in lines))
    sys.stdout.write(f"{len(differing)} of {len(before | after)} addresses differ.\n")
    return 1 if differing else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("first", metavar="SERVICE|FOLDER")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--anew", action="store_true", help="the data were made twice")
    given = parser.parse_args()
    if given.action == "record":
        sys.exit(record(given.first.rstrip("/"), given.folder))
    sys.exit(compare(Path(given.first), given.folder, anew=given.anew))
