"""``app``, ``changelog``, ``wiki`` and ``key``: what the service has already is not sent again.

Each takes the steps, tells them, and returns further fields of the JSON document.
"""

import argparse
import io
import json
import re
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from modhub_client.output import ClientError, WrongUse
from modhub_client.publish.client import (
    PUBLISHER_KEY,
    REJECTED,
    ServiceClient,
    complain,
    guess_media_type,
    sha256_of,
)
from modhub_client.publish.report import StepReport

WIKI_PATH: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
WIKI_PATH_LENGTH: Final = 200


def check_key(service: ServiceClient, _arguments: argparse.Namespace, report: StepReport) -> dict[str, Any]:
    """``key``: check that the key is valid, whichever kind it is."""
    if service.key.startswith(PUBLISHER_KEY):
        session = service.send_json("POST", "/api/auth/exchange", {"key": service.key}).document
        report.say(f"The key is valid: it publishes mods of {session.get('displayName')}.")
    else:
        service.call("GET", "/api/modhub/key")
        report.say("The key is valid.")
    return {"url": service.url}


def release_app(service: ServiceClient, arguments: argparse.Namespace, report: StepReport) -> dict[str, Any]:
    """``app OS FILE``; ``url`` is the address that will always be this build's."""
    path: Path = arguments.file
    name, size = arguments.name or path.name, path.stat().st_size
    address = _find_build(service, arguments, name, size)
    if address is not None:
        report.note(f"app {arguments.os}", changed=False)
        return {"url": f"{service.url}{address}"}
    query = urlencode({"name": name, "version": arguments.version})
    with path.open("rb") as file:
        target = f"/api/modhub/app/{quote(arguments.os, safe='')}?{query}"
        stored = service.call("POST", target, file, guess_media_type(path.name), path.name).document
    if stored.get("bytes") != size:
        raise ClientError(REJECTED, f"The service stored {stored.get('bytes')} bytes, but the file has {size}.")
    url = f"{service.url}{stored.get('url')}"
    told = f"Published {stored.get('os')} {stored.get('version')}: {url}"
    report.note(f"app {arguments.os}", changed=True, told=told)
    return {"url": url}


def _find_build(service: ServiceClient, arguments: argparse.Namespace, name: str, size: int) -> str | None:
    """The address of the newest build of the system, if it has this version, this name and these bytes."""
    newest = next((build for build in _read_app(service).get("builds", []) if build["os"] == arguments.os), None)
    if newest is None or (newest["version"], newest["name"], newest["bytes"]) != (arguments.version, name, size):
        return None
    address = str(newest["versions"][0]["url"])
    return address if service.digest_of(address) == sha256_of(arguments.file) else None


def _read_app(service: ServiceClient) -> Mapping[str, Any]:
    """The builds and the changelog."""
    try:
        app = json.loads(service.body_of("/api/modhub/app") or b"{}")
    except ValueError:
        return {}
    return app if isinstance(app, dict) else {}


def release_changelog(service: ServiceClient, arguments: argparse.Namespace, report: StepReport) -> dict[str, Any]:
    """``changelog FILE`` or ``changelog --pop``"""
    if arguments.pop == (arguments.file is not None):
        raise WrongUse("changelog takes either a file or --pop.")
    path = "/api/modhub/app/changelog"
    if arguments.pop:
        left = service.call("DELETE", path).document.get("characters")
        told = f"Removed the newest section; the changelog now has {left} characters."
        report.note("changelog", changed=True, told=told)
        return {"url": service.url}
    section = sys.stdin.buffer.read() if arguments.file == "-" else Path(arguments.file).read_bytes()
    if _has_section(str(_read_app(service).get("changelog") or ""), section):
        report.note("changelog", changed=False)
        return {"url": service.url}
    added = service.call("POST", path, io.BytesIO(section), "text/plain; charset=utf-8", "changelog").document
    told = f"Added {added.get('characters')} characters; the changelog now has {added.get('whole')}."
    report.note("changelog", changed=True, told=told)
    return {"url": service.url}


def _has_section(changelog: str, section: bytes) -> bool:
    """Whether the changelog has this section: at the top, or wherever if its first line has a number.

    So an older release's job may run again, and "Bug fixes" may be the section of two releases. The service drops
    outer blank lines and control characters, and joins sections by one blank line.
    """
    stored = unicodedata.normalize("NFC", section.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n"))
    lines = "".join(char for char in stored if char in "\n\t" or unicodedata.category(char) != "Cc").split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    text = "\n".join(lines)
    if not text:
        return False
    whole = f"{changelog}\n\n"
    return whole.startswith(f"{text}\n\n") or (
        any(char.isdigit() for char in text.partition("\n")[0]) and f"\n\n{text}\n\n" in whole
    )


def release_wiki(service: ServiceClient, arguments: argparse.Namespace, report: StepReport) -> dict[str, Any]:
    """``wiki DIR``: publish every ``.md`` file as the page of its path. Other pages stay, unless they are pruned."""
    pages, others = _find_pages(arguments.folder), _find_others(arguments.folder)
    for path, file in pages.items():
        _release_page(service, path, file.read_bytes(), report)
    if others:
        complain(f"not published, as only .md files are pages: {', '.join(others)}")
    published = service.call("GET", "/Modhub/api/wiki").document.get("pages", [])
    orphans = [str(page["path"]) for page in published if page["path"] not in pages]
    if orphans and not arguments.prune:
        complain(f"pages without a file here, which --prune removes: {', '.join(orphans)}")
        orphans = []
    for path in orphans:
        service.remove(f"/Modhub/api/wiki/{quote(path)}")
        report.say(f"Removed {path}")
    return {"removed": orphans, "skipped": others, "url": service.url}


def _release_page(service: ServiceClient, path: str, text: bytes, report: StepReport) -> None:
    address = f"/Modhub/api/wiki/{path}"
    if _lines(service.body_of(address) or b"") == _lines(text):
        report.note(f"wiki {path}", changed=False)
        return
    answer = service.call("PUT", address, io.BytesIO(text), "text/markdown; charset=utf-8", path)
    told = f"{'Created' if answer.status == 201 else 'Updated'} {path}, revision {answer.document.get('revision')}"
    report.note(f"wiki {path}", changed=True, told=told)


def _lines(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").strip()


def _find_pages(folder: Path) -> dict[str, Path]:
    """The Markdown files below ``folder`` by page path. An invalid path ends the run."""
    pages = {file.relative_to(folder).with_suffix("").as_posix(): file for file in sorted(folder.rglob("*.md"))}
    invalid = [path for path in pages if len(path) > WIKI_PATH_LENGTH or not WIKI_PATH.fullmatch(path)]
    if invalid:
        raise WrongUse(f"Invalid page path: {', '.join(invalid)}. Use letters, digits, '.', '_' and '-'.")
    if not pages:
        raise WrongUse(f"There are no .md files below {folder}.")
    return pages


def _find_others(folder: Path) -> list[str]:
    """The files below ``folder`` that become no page, such as images; hidden ones are nobody's business."""
    files = (file.relative_to(folder) for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix != ".md")
    return [file.as_posix() for file in files if not any(part.startswith(".") for part in file.parts)]
