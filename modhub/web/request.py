"""The request class: Pyramid's own, with a few properties for every view."""

import re
from collections.abc import Hashable
from functools import cached_property, partial
from ipaddress import ip_address
from typing import Any, Final

import pyramid.request
import transaction
from sqlalchemy.orm import Session
from webob.multidict import MultiDict

from modhub.base.body_rules import NOT_FORWARDED
from modhub.base.errors import storage_not_configured
from modhub.base.identity import NOBODY, CredentialKind, Identity
from modhub.base.request_ids import REQUEST_ID
from modhub.base.service_registry import Service, find_optional_service, find_service
from modhub.blobs import BlobStore
from modhub.content.limits import JSON_BODY
from modhub.db import Databases
from modhub.db.unit_of_work import Actor, unit_of_work
from modhub.plugins.security import SecurityPolicy
from modhub.web.conditions import identity_etag, named_etag
from modhub.web.forms import MULTIPART, URLENCODED, media_type_of, parse_fields
from modhub.web.payload import read_body

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
API_PREFIXES = ("/api/", "/Modhub/api/")
_SLASHES = re.compile("//+")
MAX_COOKIE_BYTES: Final = 4096
"""The largest pair that browsers store (RFC 6265, 6.1); longer ones are ignored."""
_COOKIE_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def normalize_slashes(path: str) -> str:
    """``path`` without empty segments, which traversal skips: use it to classify an address."""
    return _SLASHES.sub("/", path) if "//" in path else path


def is_api_path(path: str) -> bool:
    """Whether ``path`` belongs to the API, so that its errors are JSON (C-ERR-3)."""
    path = normalize_slashes(path)
    return path.startswith(API_PREFIXES) or path in {"/api", "/Modhub/api"}


def is_loopback_address(peer: str) -> bool:
    """Whether ``peer`` is a loopback address; the name of a unix socket is none."""
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def parse_cookies(header: str) -> dict[str, str]:
    """The cookies by name (RFC 6265, 4.2); one pair of quotes around a value is removed.

    WebOb's parser is not used: it takes minutes over a long run without ``=``.

    If a name occurs twice, the last one counts. ``header`` is as WSGI provides it. Malformed pairs and invalid UTF-8
    are skipped: a cookie set by somebody else on the same host must not break every page (C-ERR-8).
    """
    cookies = {}
    for pair in header.split(";"):
        name, equals, value = pair.strip(" \t").partition("=")
        if not equals or len(pair) > MAX_COOKIE_BYTES or not _COOKIE_NAME.fullmatch(name):
            continue
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        try:
            cookies[name] = value.encode("latin-1").decode("utf-8")
        except UnicodeError:
            continue
    return cookies


class Request(pyramid.request.Request):
    """A subclass rather than ``add_request_method``, because each of those costs a class per request."""

    registry: Any
    context: Any
    environ: dict[str, Any]
    stamp: Hashable = None
    """What stands for all that everybody sees, if it was read at the start (:mod:`modhub.web.public_reads`)."""
    keep_under: Hashable = None
    """The stamp under which the response may be kept; None: not at all."""
    answers_anybody: bool = False
    """Whether the response, which no cache may keep, is what everybody gets who asks the same: it may be compressed."""

    @property
    def is_safe(self) -> bool:
        """Whether the method only reads; all others may write."""
        return self.method in SAFE_METHODS

    @cached_property
    def is_api(self) -> bool:
        """Whether the caller is a program."""
        return is_api_path(self.environ.get("PATH_INFO", ""))

    @cached_property
    def resource_type(self) -> type:
        """The class of the resource at the address; ``NoneType`` if the request was rejected before it was found."""
        return type(getattr(self, "context", None))

    def known_etag(self, etag: str) -> str | None:
        """The tag that the caller names if it has this response (RFC 9110, 13.1.2), in either coding; else None."""
        return named_etag(self.environ.get("HTTP_IF_NONE_MATCH"), identity_etag(etag))

    @property
    def is_from_this_machine(self) -> bool:
        """Whether a program on this machine calls directly, by a loopback address and through no proxy.

        Only our server can tell: others may already have removed the headers of a proxy.
        """
        peer = self.environ.get("REMOTE_ADDR", "") if self.environ.get(NOT_FORWARDED) else ""
        return is_loopback_address(peer)

    @cached_property
    def cookies(self) -> dict[str, str]:
        """The visitor's cookies by name, values unchanged (see :func:`parse_cookies`)."""
        return parse_cookies(self.environ.get("HTTP_COOKIE", ""))

    @cached_property
    def POST(self) -> MultiDict:  # noqa: N802 - WebOb's name
        """The form's fields, text only (files are streamed: :mod:`modhub.ui.multipart`).

        400 for a malformed form, 413 for one that is too large.
        """
        content_type = self.environ.get("CONTENT_TYPE", "")
        is_form = media_type_of(content_type) in {URLENCODED, MULTIPART}
        return MultiDict(parse_fields(content_type, read_body(self, JSON_BODY)) if is_form else ())

    @property
    def databases(self) -> Databases:
        """The engines of this application."""
        return self.find_service(Databases)

    def find_service(self, kind: type[Service]) -> Service:
        """The application's service of ``kind``. Raises ``LookupError`` if no package registers one."""
        return find_service(self.registry, kind)

    @cached_property
    def tm(self) -> Any:
        """The request's transaction manager; explicit, so that nothing begins unnoticed."""
        return transaction.TransactionManager(explicit=True)

    @cached_property
    def dbsession(self) -> Session:
        """The request's only session: joined to the transaction if the method may write, otherwise read-only."""
        if not self.is_safe:
            session = self.databases.joined_session(self.tm)
            act_for_request(session, self)
            return session
        session = self.databases.readonly_session()
        self.add_finished_callback(lambda _request: session.close())
        return session

    @property
    def store(self) -> BlobStore:
        """The file store; 503 ``storage_not_configured`` if there is none."""
        store = find_optional_service(self.registry, BlobStore)
        if store is None:
            raise storage_not_configured()
        return store

    @cached_property
    def _identities(self) -> dict[str, Identity]:
        return {}

    @property
    def caller(self) -> Identity:
        """The caller as far as a permission has asked for it; `NOBODY` if it was not asked for or not recognised."""
        return next((identity for identity in self._identities.values() if identity is not NOBODY), NOBODY)

    def identify(self, credential: CredentialKind) -> Identity:
        """The caller's identity by this kind of credential only; a wrong key never falls through to another kind."""
        if credential not in self._identities:
            self._identities[credential] = self.find_service(SecurityPolicy).identify(self, credential)
        return self._identities[credential]

    def forget_account(self) -> None:
        """Answer as to nobody from now on: the session of the request's account has just ended."""
        self._identities[CredentialKind.ACCOUNT] = NOBODY


def act_for_request(session: Session, request: Request) -> None:
    """Record the actions of this session as those of the request's caller; ``request.dbsession`` does so by itself."""
    unit_of_work(session).find_actor = partial(_actor_of_request, request)


def _actor_of_request(request: Request) -> Actor:
    """The caller as the permission of the view has identified it."""
    caller, environ = request.caller, request.environ
    kind, number = "nobody", ""
    if caller.account_id is not None:
        kind, number = "account", str(caller.account_id)
    elif caller.key is not None:
        kind, number = "key", caller.key
    return Actor(kind, number, environ.get("REMOTE_ADDR") or "", "", environ.get(REQUEST_ID, ""))
