"""``modhub-publish``: what a build agent sends to the service. The standard library alone, in one file.

    modhub-publish --url https://mods.example.org key
    modhub-publish --url … app windows dist/modhub.zip --version 1.4
    modhub-publish --url … changelog section.txt        (- reads standard input)
    modhub-publish --url … changelog --pop
    modhub-publish --url … wiki docs/

The machine key comes from the environment variable MODHUB_API_KEY or from the file that --key-file names, never from an
argument. Publish builds first, then the changelog.

exit codes: 0 done; 1 refused by the service; 2 wrong call, nothing was sent; 3 the key is refused, do not try again;
4 not to be reached, busy, or its storage refused twice: later may do; 5 the service has no file storage configured
"""

import argparse
import http.client
import io
import json
import mimetypes
import os
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from urllib.parse import quote, urlencode, urlsplit

DONE, REFUSED, WRONG_CALL, KEY_REFUSED, UNAVAILABLE, INCOMPLETE = range(6)
BLOCK = 256 * 1024
TIMEOUT_SECONDS = 120.0
RETRY_SECONDS = 1.0
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
WIKI_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
WIKI_PATH_LENGTH = 200


class Failure(Exception):
    """What ends the run: the exit code and a sentence for the build log."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and the JSON object that came with it, empty when there was none."""

    status: int
    document: Mapping[str, Any]


class Progress:
    """A body that draws a bar on a terminal while it is read; elsewhere it is silent."""

    def __init__(self, file: BinaryIO, size: int, label: str, screen: TextIO) -> None:
        self._file = file
        self._size = size
        self._label = label
        self._screen = screen if screen.isatty() and size else None
        self._sent = 0
        self._drawn = -1

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes, never more than were promised."""
        left = self._size - self._sent
        chunk = self._file.read(left if size < 0 else min(size, left))
        self._sent += len(chunk)
        self._draw()
        return chunk

    def _draw(self) -> None:
        percent = 100 * self._sent // self._size if self._size else 100
        if self._screen is None or percent == self._drawn:
            return
        self._drawn = percent
        room = max(shutil.get_terminal_size().columns - len(self._label) - 12, 10)
        full = room * percent // 100
        self._screen.write(f"\r{self._label} [{'#' * full}{'.' * (room - full)}] {percent:3d} %")
        self._screen.flush()

    def close(self) -> None:
        """The bar is left as it is; what is written next stands below it."""
        if self._screen is not None and self._drawn >= 0:
            self._screen.write("\n")


class ServiceClient:
    """The service at ``url``, called with ``key``."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment or "@" in url:
            raise Failure(WRONG_CALL, "--url must be an address such as https://mods.example.org.")
        try:
            self._port = parts.port
        except ValueError:
            raise Failure(WRONG_CALL, "--url names a port that is none.") from None
        self.secure = parts.scheme == "https"
        self.host = parts.hostname
        self.url = url.rstrip("/")
        self._prefix = parts.path.rstrip("/")
        self._key = key.encode()

    def call(self, method: str, path: str, body: BinaryIO | None = None, kind: str = "", label: str = "") -> Answer:
        """Send one request and judge its answer; a 502 is tried once more, nothing else is (C-ERR-18)."""
        answer = self._send(method, path, body, kind, label)
        if answer.status == 502:
            sys.stderr.write("The file store refused; trying once more.\n")
            time.sleep(RETRY_SECONDS)
            answer = self._send(method, path, body, kind, label)
        if answer.status not in {200, 201}:
            raise refusal(answer)
        if not answer.document:
            raise Failure(REFUSED, f"What answers at {self.url} is not this service.")
        return answer

    def _send(self, method: str, path: str, body: BinaryIO | None, kind: str, label: str) -> Answer:
        headers: dict[str, Any] = {"X-Api-Key": self._key, "Accept": "application/json", "Content-Length": "0"}
        shown = None
        if body is not None:
            size = body.seek(0, os.SEEK_END)
            body.seek(0)
            shown = Progress(body, size, label, sys.stderr)
            headers |= {"Content-Length": str(size), "Content-Type": kind}
        try:
            return self._exchange(method, self._prefix + path, shown, headers)
        except (OSError, http.client.HTTPException) as problem:
            raise Failure(UNAVAILABLE, f"{self.url} cannot be reached: {problem or type(problem).__name__}.") from None
        finally:
            if shown is not None:
                shown.close()

    def _exchange(self, method: str, path: str, body: Any, headers: Mapping[str, Any]) -> Answer:
        connection = self._connection()
        try:
            try:
                connection.request(method, path, body, headers)
            except (BrokenPipeError, ConnectionResetError):
                # It may have answered before it closed: 401 and 413 need not wait for the body.
                if body is None:
                    raise
            response = connection.getresponse()
            return Answer(response.status, _document(response.read(1 << 24)))
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        # Certificates and host names are checked by default.
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        return kind(self.host, self._port, timeout=TIMEOUT_SECONDS, blocksize=BLOCK)


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def refusal(answer: Answer) -> Failure:
    """The failure that an answer means."""
    error = str(answer.document.get("error", ""))
    said = str(answer.document.get("message") or error or "It gave no reason.")
    if answer.status == 401:
        return Failure(KEY_REFUSED, f"The service refuses the key ({error or 401}). Do not try again with this one.")
    if error == "storage_not_configured":
        return Failure(INCOMPLETE, "The service is not set up completely: it has no file storage. Tell its operator.")
    if answer.status in {502, 503, 504}:
        return Failure(UNAVAILABLE, f"Not now ({answer.status}): {said}")
    if 300 <= answer.status < 400:
        return Failure(REFUSED, "The service answers from another address; give that as --url.")
    return Failure(REFUSED, f"Refused ({answer.status}): {said}")


def run_key(service: ServiceClient, _arguments: argparse.Namespace) -> None:
    """``key``: whether the key is valid; changes nothing."""
    service.call("GET", "/api/modhub/key")
    say("The key is valid.")


def run_app(service: ServiceClient, arguments: argparse.Namespace) -> None:
    """``app OS FILE``"""
    path: Path = arguments.file
    query = {"name": arguments.name or path.name, "version": arguments.version}
    address = f"/api/modhub/app/{quote(arguments.os, safe='')}?{urlencode(query)}"
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        stored = service.call("POST", address, file, kind, path.name).document
    if stored.get("bytes") != size:
        raise Failure(REFUSED, f"The service says that it stored {stored.get('bytes')} bytes; the file has {size}.")
    say(f"Published {stored.get('os')} {stored.get('version')}: {service.url}{stored.get('url')}")


def run_changelog(service: ServiceClient, arguments: argparse.Namespace) -> None:
    """``changelog FILE`` or ``changelog --pop``"""
    if arguments.pop == (arguments.file is not None):
        raise Failure(WRONG_CALL, "changelog takes either a file or --pop.")
    if arguments.pop:
        left = service.call("DELETE", "/api/modhub/app/changelog").document
        say(f"The newest section is taken back; {left.get('characters')} characters are left.")
        return
    section = sys.stdin.buffer.read() if arguments.file == "-" else Path(arguments.file).read_bytes()
    kind = "text/plain; charset=utf-8"
    added = service.call("POST", "/api/modhub/app/changelog", io.BytesIO(section), kind, "changelog").document
    say(f"Added {added.get('characters')} characters; the changelog has {added.get('whole')}.")


def wiki_pages(folder: Path) -> dict[str, Path]:
    """The Markdown files below ``folder`` by the path of their page; a name that cannot be one ends the run."""
    found = {file.relative_to(folder).with_suffix("").as_posix(): file for file in sorted(folder.rglob("*.md"))}
    bad = [path for path in found if len(path) > WIKI_PATH_LENGTH or not WIKI_PATH.fullmatch(path)]
    if bad:
        raise Failure(WRONG_CALL, f"No page can have this path: {', '.join(bad)}. Letters, digits, '.', '_', '-' may.")
    if not found:
        raise Failure(WRONG_CALL, f"There is no .md file below {folder}.")
    return found


def run_wiki(service: ServiceClient, arguments: argparse.Namespace) -> None:
    """``wiki DIR``: every ``.md`` file becomes the page of its path; pages that have no file are left alone."""
    for path, file in wiki_pages(arguments.folder).items():
        body = io.BytesIO(file.read_bytes())
        answer = service.call("PUT", f"/Modhub/api/wiki/{path}", body, "text/markdown; charset=utf-8", path)
        done = "Created" if answer.status == 201 else "Wrote"
        say(f"{done} {path}, revision {answer.document.get('revision')}")


def say(line: str) -> None:
    """One line for the build log."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def read_key(key_file: Path | None, environ: Mapping[str, str]) -> str:
    """The machine key, from the file when one is named."""
    key = (environ.get("MODHUB_API_KEY", "") if key_file is None else key_file.read_text("utf-8")).strip()
    if not key:
        raise Failure(WRONG_CALL, "There is no key: set MODHUB_API_KEY, or name a file with --key-file.")
    if not key.isprintable() or " " in key:
        raise Failure(WRONG_CALL, "The key is not one word.")
    return key


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="modhub-publish",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--url", required=True, help="address of the service")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="file with the key, instead of MODHUB_API_KEY")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    app = commands.add_parser("app", help="publish a build for an operating system")
    app.add_argument("os", metavar="OS", help="windows, linux, macos or another short name")
    app.add_argument("file", type=Path, metavar="FILE")
    app.add_argument("--version", default="", help="free label of the build")
    app.add_argument("--name", help="name to download it under (default: the file's)")
    app.set_defaults(run=run_app)
    changelog = commands.add_parser("changelog", help="add a section to the app changelog, or take the newest back")
    changelog.add_argument("file", nargs="?", metavar="FILE", help="plain text in UTF-8; - is standard input")
    changelog.add_argument("--pop", action="store_true", help="take the newest section back")
    changelog.set_defaults(run=run_changelog)
    wiki = commands.add_parser("wiki", help="publish a folder of Markdown files as wiki pages")
    wiki.add_argument("folder", type=Path, metavar="DIR")
    wiki.set_defaults(run=run_wiki)
    commands.add_parser("key", help="test the key").set_defaults(run=run_key)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The console script; the module's text says what the exit codes mean."""
    arguments = build_parser().parse_args(argv)
    try:
        service = ServiceClient(arguments.url, read_key(arguments.key_file, os.environ))
        if not service.secure and service.host not in LOOPBACK:
            sys.stderr.write("modhub-publish: the key travels unprotected; use https.\n")
        arguments.run(service, arguments)
    except Failure as failure:
        sys.stderr.write(f"modhub-publish: {failure}\n")
        return failure.code
    except (OSError, UnicodeDecodeError) as problem:
        # Only files are read out here.
        sys.stderr.write(f"modhub-publish: {problem}\n")
        return WRONG_CALL
    return DONE


if __name__ == "__main__":
    sys.exit(main())
