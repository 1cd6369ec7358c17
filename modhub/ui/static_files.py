"""Static files: read once at startup, served under a name with a hash of the content, and cached without expiry.

They are those directly in the folder ``static`` of a feature's package. ``ui.static("modhub_bookmarks:list.js")``
returns the path of a file. Uploaded files are never served below ``/static``.

A style sheet with rules for a dark scheme has two more forms, for visitors who have chosen a theme: in one these rules
always hold, in the other never.
"""

import hashlib
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyramid.config import Configurator
from pyramid.response import Response
from zope.interface import implementer

from modhub.base.errors import not_found
from modhub.base.service_registry import find_service
from modhub.plugins.declarations import Declarations
from modhub.plugins.resources import IResource, IRoot
from modhub.web.downloads import IMMUTABLE
from modhub.web.request import Request
from modhub.web.traversal import Resource
from modhub.web.views import OPEN, page

_AFTER_FEATURES: Final = 1
"""The order of the action that reads the folders that features declare."""
_DARK_RULES: Final = b"@media (prefers-color-scheme: dark)"
_SCHEMES: Final = b"color-scheme: light dark;"
_TYPES: Final = {".js": "text/javascript", ".ico": "image/x-icon", ".svg": "image/svg+xml", ".css": "text/css"}


class IStaticFile(IResource):
    """``/static/{name}``"""


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file: its hashed name, media type and content."""

    name: str
    content_type: str
    body: bytes


class StaticFiles:
    """All static files of an application, by asset (``modhub:style.css``) and by hashed name."""

    def __init__(self) -> None:
        self.by_asset: dict[str, StaticFile] = {}
        self.by_name: dict[str, StaticFile] = {}

    def add(self, package: str, folder: Path) -> None:
        """Read the files directly in ``folder``."""
        for path in sorted(folder.iterdir()):
            if path.is_file():
                self.add_content(f"{package}:{path.name}", path.suffix, path.read_bytes())

    def add_content(self, asset: str, suffix: str, body: bytes) -> None:
        """Add a file that is in no folder."""
        stem = asset.replace(":", "-").removesuffix(suffix)
        for name, file in _with_themes(asset, stem, suffix, body):
            self.by_asset[name] = self.by_name[file.name] = file

    def has(self, asset: str) -> bool:
        """Whether there is such a file."""
        return asset in self.by_asset

    def address(self, asset: str, theme: str = "") -> str:
        """Return the path of ``package:file``; KeyError if there is no such file. ``theme``: ``light`` or ``dark``."""
        file = self.by_asset.get(f"{asset} {theme}") or self.by_asset[asset]
        return f"/static/{file.name}"


def _with_themes(asset: str, stem: str, suffix: str, body: bytes) -> Iterator[tuple[str, StaticFile]]:
    """The file, and of a style sheet its forms for each theme."""
    yield asset, static_file(stem, suffix, body)
    if suffix == ".css" and _DARK_RULES in body:
        for theme, always in (("light", b"not all"), ("dark", b"all")):
            scheme = f"color-scheme: {theme};".encode()
            fixed = body.replace(_DARK_RULES, b"@media " + always).replace(_SCHEMES, scheme)
            yield f"{asset} {theme}", static_file(f"{stem}-{theme}", suffix, fixed)


def static_file(stem: str, suffix: str, body: bytes) -> StaticFile:
    """The file ``{stem}-{hash}{suffix}``."""
    digest = hashlib.sha256(body).hexdigest()[:16]
    media_type = _TYPES.get(suffix) or mimetypes.guess_type(f"file{suffix}")[0] or "application/octet-stream"
    charset = "; charset=utf-8" if media_type.startswith("text/") else ""
    return StaticFile(f"{stem}-{digest}{suffix}", media_type + charset, body)


@implementer(IStaticFile)
class StaticFileResource(Resource):
    """``/static/{name}``"""


class StaticFolder(Resource):
    """``/static``"""

    member = StaticFileResource


@page(context=IStaticFile, request_method="GET", permission=OPEN)
def read_static(context: StaticFileResource, request: Request) -> Response:
    """``GET /static/{name}``: reads and sets no cookie."""
    file = request.find_service(StaticFiles).by_name.get(context.__name__)
    if file is None:
        raise not_found()
    return static_response(file, IMMUTABLE)


def static_response(file: StaticFile, cache_control: str) -> Response:
    """Return the response for a static file."""
    headers = [
        ("Content-Type", file.content_type),
        ("Content-Length", str(len(file.body))),
        ("Cache-Control", cache_control),
        ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]
    return Response(headerlist=headers, app_iter=[file.body])


def _read_folders(config: Configurator) -> None:
    files, declared = find_service(config.registry, StaticFiles), find_service(config.registry, Declarations)
    for package, folder in declared.static_folders.items():
        files.add(package, folder)


def includeme(config: Configurator) -> None:
    """The files of the core and of all features, and the views."""
    config.add_service(StaticFiles, StaticFiles())
    find_service(config.registry, Declarations).static_folders["modhub"] = Path(__file__).parents[1] / "static"
    config.action("modhub static files", lambda: _read_folders(config), order=_AFTER_FEATURES)
    config.add_child(IRoot, "static", StaticFolder)
    config.scan(__name__)
