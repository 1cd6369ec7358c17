"""``modhub-publish``: publishes builds, changelog sections and wiki pages.

One file, standard library only: build machines copy it alone, so it is longer than other modules.

    modhub-publish --url https://mods.example.org app windows dist/modhub.zip --version 1.4
    modhub-publish --url … changelog section.txt        (- reads standard input)
    modhub-publish --url … wiki docs/

The machine key comes from MODHUB_API_KEY or --key-file, never from an argument. Publish builds before the changelog.
"""

import argparse
import contextlib
import errno
import http.client
import io
import json
import mimetypes
import os
import re
import shutil
import sys
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

DONE, REJECTED, USAGE_ERROR, KEY_REJECTED, UNAVAILABLE, INCOMPLETE = range(6)
EXIT_HELP = """exit codes: 0 done; 1 rejected by the service; 2 usage error, nothing was sent; 3 the key was rejected:
do not retry; 4 unreachable, busy, or storage failed twice: retry later; 5 the service has no file storage configured"""
PUBLISHER_KEY = "mhk_"
"""How publisher keys begin; all others are machine keys."""
BLOCK = 256 * 1024
TIMEOUT_SECONDS = 120.0
RETRY_SECONDS = 1.0
READER_GONE = {errno.EPIPE} | ({errno.EINVAL} if sys.platform == "win32" else set())
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
WIKI_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
WIKI_PATH_LENGTH = 200


class Failure(Exception):
    """Ends the run with an exit code and a sentence for the build log."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class Answer:
    """The status and JSON object of a response; empty if there was none."""

    status: int
    document: Mapping[str, Any]


class Progress:
    """A request body that shows a progress bar on a terminal while it is read; silent elsewhere."""

    def __init__(self, file: BinaryIO, size: int, label: str, terminal: TextIO) -> None:
        self._file = file
        self._size = size
        self._label = label
        self._terminal = terminal if terminal.isatty() and size else None
        self._sent = 0
        self._percent = -1

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes, and never more than Content-Length in all."""
        left = self._size - self._sent
        chunk = self._file.read(left if size < 0 else min(size, left))
        self._sent += len(chunk)
        self._draw()
        return chunk

    def _draw(self) -> None:
        percent = 100 * self._sent // self._size if self._size else 100
        if self._terminal is None or percent == self._percent:
            return
        self._percent = percent
        width = max(shutil.get_terminal_size().columns - len(self._label) - 12, 10)
        filled = width * percent // 100
        self._terminal.write(f"\r{self._label} [{'#' * filled}{'.' * (width - filled)}] {percent:3d} %")
        self._terminal.flush()

    def close(self) -> None:
        """Leave the bar and start a new line."""
        if self._terminal is not None and self._percent >= 0:
            self._terminal.write("\n")


class ServiceClient:
    """A client of the service at ``url`` with the machine key ``key``."""

    def __init__(self, url: str, key: str) -> None:
        address = urlsplit(url)
        has_extras = address.query or address.fragment or "@" in url
        if address.scheme not in {"http", "https"} or not address.hostname or has_extras:
            raise Failure(USAGE_ERROR, "--url must be an address such as https://mods.example.org.")
        try:
            self._port = address.port
        except ValueError:
            raise Failure(USAGE_ERROR, "--url has an invalid port.") from None
        self.secure = address.scheme == "https"
        self.host = address.hostname
        self.url = url.rstrip("/")
        self.key = key
        self._proxy, self._proxy_headers = _proxy_of(address.scheme, self.host)
        proxied = f"http://{address.netloc}" if self._proxy and not self.secure else ""
        self._prefix = proxied + address.path.rstrip("/")

    def call(
        self, method: str, path: str, body: BinaryIO | None = None, media_type: str = "", label: str = ""
    ) -> Answer:
        """Send a request; raise for an error."""
        answer = self.send_twice(method, path, body, media_type, label)
        if answer.status not in {200, 201}:
            raise failure_of(answer)
        if not answer.document:
            raise Failure(REJECTED, f"{self.url} is not a modhub service.")
        return answer

    def send_twice(
        self, method: str, path: str, body: BinaryIO | None = None, media_type: str = "", label: str = ""
    ) -> Answer:
        """Send a request, a second time after a 502 (C-ERR-18); the answer may be an error."""
        answer = self._send(method, path, body, media_type, label)
        if answer.status == 502:
            complain("the file store failed; trying again.")
            time.sleep(RETRY_SECONDS)
            answer = self._send(method, path, body, media_type, label)
        return answer

    def remove(self, path: str) -> None:
        """Delete what is at this path, if it is there."""
        answer = self._send("DELETE", path, None, "", "")
        if answer.status not in {204, 404}:
            raise failure_of(answer)

    def _send(self, method: str, path: str, body: BinaryIO | None, media_type: str, label: str) -> Answer:
        headers: dict[str, Any] = {"X-Api-Key": self.key.encode(), "Accept": "application/json", "Content-Length": "0"}
        progress = None
        if body is not None:
            size = body.seek(0, os.SEEK_END)
            body.seek(0)
            progress = Progress(body, size, label, sys.stderr)
            headers |= {"Content-Length": str(size), "Content-Type": media_type}
        try:
            return self._exchange(method, self._prefix + path, progress, headers)
        except (OSError, http.client.HTTPException) as problem:
            raise Failure(UNAVAILABLE, f"{self.url} cannot be reached: {problem or type(problem).__name__}.") from None
        finally:
            if progress is not None:
                progress.close()

    def _exchange(self, method: str, path: str, body: Any, headers: Mapping[str, Any]) -> Answer:
        connection = self._connection()
        try:
            try:
                connection.request(method, path, body, self.for_proxy(headers))
            except (BrokenPipeError, ConnectionResetError):
                # The service may have answered before it closed: 401 and 413 do not wait for the body.
                if body is None:
                    raise
            response = connection.getresponse()
            return Answer(response.status, parse_document(response.read(1 << 24)))
        finally:
            connection.close()

    def for_proxy(self, headers: Mapping[str, Any]) -> dict[str, Any]:
        """These headers, and those for a proxy that reads the request."""
        return {**headers, **({} if self.secure else self._proxy_headers)}

    def _connection(self) -> http.client.HTTPConnection:
        # Certificates and host names are checked by default.
        connection_class = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        host, port = self._proxy or (self.host, self._port)
        connection = connection_class(host, port, timeout=TIMEOUT_SECONDS, blocksize=BLOCK)
        if self._proxy and self.secure:
            connection.set_tunnel(self.host, self._port or http.client.HTTPS_PORT, self._proxy_headers)
        return connection


def _proxy_of(scheme: str, host: str) -> tuple[tuple[str, int] | None, dict[str, str]]:
    """The environment's proxy for this host, and the headers for it; None for this machine and for exceptions."""
    settings = getproxies()
    proxy = settings.get(scheme) or settings.get("all")
    if not proxy or host in LOOPBACK or proxy_bypass(host):
        return None, {}
    address = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    try:
        port = address.port or 80
    except ValueError:
        port = 0
    if address.scheme != "http" or not address.hostname or not port:
        raise Failure(USAGE_ERROR, f"The proxy of the environment for {scheme} is not http://HOST:PORT.")
    if address.username is None:
        return (address.hostname, port), {}
    credentials = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return (address.hostname, port), {"Proxy-Authorization": f"Basic {b64encode(credentials.encode()).decode()}"}


def parse_document(body: bytes) -> Mapping[str, Any]:
    """The JSON object of a response; empty if it has none."""
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def failure_of(answer: Answer) -> Failure:
    """The failure for an error response."""
    error = str(answer.document.get("error", ""))
    message = str(answer.document.get("message") or error or "No reason given.")
    if answer.status == 401:
        return Failure(KEY_REJECTED, f"The service rejected the key ({error or 401}). Do not retry with this key.")
    if error == "storage_not_configured":
        return Failure(INCOMPLETE, "The service has no file storage configured. Tell its operator.")
    if answer.status in {502, 503, 504}:
        return Failure(UNAVAILABLE, f"Temporarily unavailable ({answer.status}): {message}")
    if 300 <= answer.status < 400:
        return Failure(REJECTED, "The service has moved; give its new address with --url.")
    return Failure(REJECTED, f"Rejected ({answer.status}): {message}")


def run_key(service: ServiceClient, _arguments: argparse.Namespace) -> None:
    """``key``: check that the key is valid, whichever kind it is."""
    if not service.key.startswith(PUBLISHER_KEY):
        service.call("GET", "/api/modhub/key")
        say("The key is valid.")
        return
    body = io.BytesIO(json.dumps({"key": service.key}).encode())
    session = service.call("POST", "/api/auth/exchange", body, "application/json").document
    say(f"The key is valid: it publishes mods of {session.get('displayName')}.")


def run_app(service: ServiceClient, arguments: argparse.Namespace) -> str:
    """``app OS FILE``; returns the address that will always be this build's."""
    path: Path = arguments.file
    query = {"name": arguments.name or path.name, "version": arguments.version}
    address = f"/api/modhub/app/{quote(arguments.os, safe='')}?{urlencode(query)}"
    media_type = guess_media_type(path.name)
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        stored = service.call("POST", address, file, media_type, path.name).document
    if stored.get("bytes") != size:
        raise Failure(REJECTED, f"The service stored {stored.get('bytes')} bytes, but the file has {size}.")
    url = f"{service.url}{stored.get('url')}"
    say(f"Published {stored.get('os')} {stored.get('version')}: {url}")
    return url


def guess_media_type(name: str) -> str:
    """The media type of a file's bytes: those of a compressed file are not what was compressed."""
    media_type, compression = mimetypes.guess_type(name)
    if compression is not None:
        return "application/gzip" if compression == "gzip" else "application/octet-stream"
    return media_type or "application/octet-stream"


def run_changelog(service: ServiceClient, arguments: argparse.Namespace, skip: Any = lambda _: False) -> None:
    """``changelog FILE`` or ``changelog --pop``"""
    if arguments.pop == (arguments.file is not None):
        raise Failure(USAGE_ERROR, "changelog takes either a file or --pop.")
    if arguments.pop:
        changelog = service.call("DELETE", "/api/modhub/app/changelog").document
        say(f"Removed the newest section; the changelog now has {changelog.get('characters')} characters.")
        return
    section = sys.stdin.buffer.read() if arguments.file == "-" else Path(arguments.file).read_bytes()
    if skip(section):
        return
    body, media_type = io.BytesIO(section), "text/plain; charset=utf-8"
    added = service.call("POST", "/api/modhub/app/changelog", body, media_type, "changelog").document
    say(f"Added {added.get('characters')} characters; the changelog now has {added.get('whole')}.")


def wiki_pages(folder: Path) -> dict[str, Path]:
    """The Markdown files below ``folder`` by page path. An invalid path ends the run."""
    pages = {file.relative_to(folder).with_suffix("").as_posix(): file for file in sorted(folder.rglob("*.md"))}
    invalid = [path for path in pages if len(path) > WIKI_PATH_LENGTH or not WIKI_PATH.fullmatch(path)]
    if invalid:
        raise Failure(USAGE_ERROR, f"Invalid page path: {', '.join(invalid)}. Use letters, digits, '.', '_' and '-'.")
    if not pages:
        raise Failure(USAGE_ERROR, f"There are no .md files below {folder}.")
    return pages


def other_files(folder: Path) -> list[str]:
    """The files below ``folder`` that become no page, such as images; hidden ones are nobody's business."""
    files = (file.relative_to(folder) for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix != ".md")
    return [file.as_posix() for file in files if not any(part.startswith(".") for part in file.parts)]


def run_wiki(
    service: ServiceClient, arguments: argparse.Namespace, skip: Any = lambda *_: False
) -> tuple[list[str], list[str]]:
    """``wiki DIR``: publish every ``.md`` file as the page of its path. Other pages stay, unless they are pruned.

    Returns the pages that were removed, and the files that became no page.
    """
    pages, others = wiki_pages(arguments.folder), other_files(arguments.folder)
    for path, file in pages.items():
        text = file.read_bytes()
        if not skip(path, text):
            media_type = "text/markdown; charset=utf-8"
            answer = service.call("PUT", f"/Modhub/api/wiki/{path}", io.BytesIO(text), media_type, path)
            say(
                f"{'Created' if answer.status == 201 else 'Updated'} {path}, revision {answer.document.get('revision')}"
            )
    if others:
        complain(f"not published, as only .md files are pages: {', '.join(others)}")
    published = service.call("GET", "/Modhub/api/wiki").document.get("pages", [])
    orphans = [str(page["path"]) for page in published if page["path"] not in pages]
    if orphans and not arguments.prune:
        complain(f"pages without a file here, which --prune removes: {', '.join(orphans)}")
        return [], others
    for path in orphans:
        service.remove(f"/Modhub/api/wiki/{quote(path)}")
        say(f"Removed {path}")
    return orphans, others


def say(line: str) -> None:
    """Print a line to the build log. What was sent is sent, even if that is full or closed."""
    problem = _print(sys.stdout, line)
    if problem is not None and problem.errno not in READER_GONE:
        complain(f"the output could not be written: {problem.strerror}")


def complain(sentence: str) -> None:
    """Print a sentence to standard error."""
    _print(sys.stderr, f"modhub-publish: {sentence}")


def _print(output: TextIO | None, line: str) -> OSError | None:
    if output is None:
        # It was closed from the beginning.
        return None
    if isinstance(output, io.TextIOWrapper):
        # Pipes on Windows have the code page of the system: what it lacks is shown as an escape.
        output.reconfigure(errors="backslashreplace")
    try:
        output.write(line + "\n")
        output.flush()
    except OSError as problem:
        # Otherwise what is buffered fails once more when the interpreter ends.
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), output.fileno())
        return problem
    return None


def read_key(key_file: Path | None, environ: Mapping[str, str]) -> str:
    """The machine key, from the file if one is given."""
    try:
        key = (environ.get("MODHUB_API_KEY", "") if key_file is None else key_file.read_text("utf-8-sig")).strip()
    except UnicodeDecodeError:
        raise Failure(USAGE_ERROR, f"{key_file} is not UTF-8. Save it as UTF-8.") from None
    if not key:
        raise Failure(USAGE_ERROR, "No key given: set MODHUB_API_KEY or use --key-file.")
    if not key.isprintable() or " " in key:
        place = "The key" if key_file is None else f"{key_file} must be UTF-8, and the key in it"
        raise Failure(USAGE_ERROR, f"{place} must not contain spaces or control characters.")
    return key


def build_parser(description: str | None = __doc__) -> tuple[argparse.ArgumentParser, Any]:
    """The command line, and its subparsers for more commands."""
    layout: Any = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False, "epilog": EXIT_HELP}
    parser = argparse.ArgumentParser("modhub-publish", description=description, **layout)
    parser.add_argument("--url", default="", help="address of the service")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="file with the key, instead of MODHUB_API_KEY")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    app = commands.add_parser("app", help="publish a build for an operating system", **layout)
    app.add_argument("os", metavar="OS", help="windows, linux, macos or another short name")
    app.add_argument("file", type=Path, metavar="FILE", help="the build")
    app.add_argument("--version", default="", help="label of the build, free text")
    app.add_argument("--name", help="file name for downloads (default: that of FILE)")
    app.set_defaults(run=run_app)
    changelog = commands.add_parser("changelog", help="add a section to the app changelog, or remove one", **layout)
    changelog.add_argument("file", nargs="?", metavar="FILE", help="plain text in UTF-8; - for standard input")
    changelog.add_argument("--pop", action="store_true", help="remove the newest section")
    changelog.set_defaults(run=run_changelog)
    wiki = commands.add_parser("wiki", help="publish a folder of Markdown files as wiki pages", **layout)
    wiki.add_argument("folder", type=Path, metavar="DIR", help="each .md file is the page of its path")
    wiki.add_argument("--prune", action="store_true", help="remove the pages that have no file below DIR")
    wiki.set_defaults(run=run_wiki)
    commands.add_parser("key", help="check the key", **layout).set_defaults(run=run_key)
    return parser, commands


def run_and_report(arguments: argparse.Namespace) -> int:
    """Run ``arguments.run``, and return one of EXIT_HELP."""
    try:
        service = ServiceClient(arguments.url, read_key(arguments.key_file, os.environ))
        if not service.secure and service.host not in LOOPBACK:
            complain("warning: the key is sent unencrypted; use https.")
        arguments.run(service, arguments)
    except (Failure, OSError, UnicodeDecodeError) as problem:
        # Network errors are handled in ServiceClient; the others are about local files.
        complain(str(problem))
        return problem.code if isinstance(problem, Failure) else USAGE_ERROR
    return DONE


def main(argv: Sequence[str] | None = None) -> int:
    """Publish with this file alone."""
    return run_and_report(build_parser()[0].parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
