"""A service that breaks one promise: for tests of what notices it, such as ``modhub-verify``.

::

    broken = FaultyApplication(site.app)
    broken.faults = [with_json("/api/modhub", lambda listed: listed.update(total=0))]

A fault is for the addresses that its pattern matches as a whole, without their query.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pyramid.request import Request
from pyramid.response import Response

Before = Callable[[Any], Response | None]
"""Changes a request before the application sees it, or answers in its place."""
After = Callable[[Any, Any], object]
"""Changes a response."""


@dataclass(frozen=True)
class Fault:
    """What is done to requests and responses of addresses that match ``path``, by methods that match ``method``."""

    path: str
    before: Before | None = None
    after: After | None = None
    method: str = ".*"

    def concerns(self, request: Any) -> bool:
        """Whether it is for this request."""
        # As sent: an address need not be UTF-8.
        path = request.environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        return bool(re.fullmatch(self.path, path, re.DOTALL) and re.fullmatch(self.method, request.method))


class FaultyApplication:
    """The application with its present ``faults``; it counts the requests that it has seen."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self.faults: Sequence[Fault] = ()
        self.requests = 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Serve a request (PEP 3333)."""
        self.requests += 1
        request = Request(environ)
        concerned = [fault for fault in self.faults if fault.concerns(request)]
        if not concerned:
            served: Iterable[bytes] = self.application(environ, start_response)
            return served
        # The server would send the file itself, behind our back.
        environ.pop("wsgi.file_wrapper", None)
        response = next((reply for fault in concerned if fault.before and (reply := fault.before(request))), None)
        response = response or request.get_response(self.application)
        for fault in concerned:
            if fault.after:
                fault.after(request, response)
        changed: Iterable[bytes] = response(environ, start_response)
        return changed


def answered(path: str, status: int, body: bytes = b"", *, method: str = ".*", **headers: str) -> Fault:
    """Another answer; ``content_type="text/html"`` is a header."""
    pairs = [(name.replace("_", "-").title(), value) for name, value in headers.items()]

    def answer(_request: Any) -> Response:
        return Response(status=status, headerlist=[*pairs, ("Content-Length", str(len(body)))], app_iter=[body])

    return Fault(path, answer, method=method)


def with_status(path: str, status: int, *, method: str = ".*") -> Fault:
    """Another status of the same answer."""
    return Fault(path, after=lambda _request, response: setattr(response, "status", status), method=method)


def with_header(path: str, name: str, value: str | None, *, method: str = ".*", only: int = 0) -> Fault:
    """Another value of a header, or none; ``only`` with this status."""

    def change(_request: Any, response: Any) -> None:
        if only in (0, response.status_int):
            kept = [pair for pair in response.headerlist if pair[0].lower() != name.lower()]
            response.headerlist = kept if value is None else [*kept, (name, value)]

    return Fault(path, after=change, method=method)


def with_body(path: str, change: Callable[[bytes], bytes], *, method: str = ".*") -> Fault:
    """Another body, whatever its status is. Its headers stay, but for its length."""

    def rewrite(request: Any, response: Any) -> None:
        if request.method != "HEAD" and response.body:
            response.body = change(response.body)

    return Fault(path, after=rewrite, method=method)


def with_text(path: str, old: str, new: str, *, method: str = ".*") -> Fault:
    """Another text wherever this pattern matches."""
    return with_body(path, lambda body: re.sub(old.encode(), new.encode(), body), method=method)


def with_json(path: str, change: Callable[[Any], object], *, method: str = ".*") -> Fault:
    """Another document: ``change`` changes it."""

    def rewrite(body: bytes) -> bytes:
        document = json.loads(body)
        change(document)
        return json.dumps(document).encode()

    return with_body(path, rewrite, method=method)


def without_headers(path: str, *names: str, method: str = ".*") -> Fault:
    """Headers of the request that the application does not see."""

    def remove(request: Any) -> None:
        for name in names:
            request.environ.pop(f"HTTP_{name.upper().replace('-', '_')}", None)

    return Fault(path, remove, method=method)


def with_query(path: str, change: Callable[[dict[str, str]], object], *, method: str = ".*") -> Fault:
    """Another query."""

    def rewrite(request: Any) -> None:
        parameters = dict(request.GET)
        change(parameters)
        request.query_string = urlencode(parameters)

    return Fault(path, rewrite, method=method)


def with_question(path: str, change: Callable[[Any], object]) -> Fault:
    """Another JSON body of the request: ``change`` changes it; an empty object if it is no JSON."""

    def rewrite(request: Any) -> None:
        try:
            document = json.loads(request.body)
        except ValueError:
            document = {}
        change(document)
        request.body = json.dumps(document).encode()

    return Fault(path, rewrite)
