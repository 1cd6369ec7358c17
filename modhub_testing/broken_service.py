"""An application that keeps all of the contract but for one thing, for tests of what notices it."""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from pyramid.request import Request
from pyramid.response import Response

Edit = Callable[[Request, Response], object]


@dataclass(frozen=True)
class Fault:
    """What is wrong with the calls whose ``METHOD path?query`` matches ``call`` as a whole.

    ``before`` may change the request, or return a response in place of the application's; ``after`` may change that.
    """

    call: str
    before: Callable[[Request], object] | None = None
    after: Edit | None = None

    def concerns(self, request: Request) -> bool:
        """Whether it is about this request."""
        return re.fullmatch(self.call, _call_of(request)) is not None


def at(path: str, method: str = ".*") -> str:
    """Calls of addresses that match this pattern, by methods that match the other one, whatever their query is."""
    return rf"(?:{method}) (?:{path})(?:\?.*)?"


def _call_of(request: Request) -> str:
    """``METHOD path?query``; an address need not be UTF-8."""
    path = quote(request.environ["PATH_INFO"].encode("latin-1"))
    return f"{request.method} {path}" + (f"?{request.query_string}" if request.query_string else "")


class BrokenService:
    """WSGI: the application, with ``faults``; ``calls`` lists what was asked. Bodies are read whole."""

    def __init__(self, app: Any, *faults: Fault) -> None:
        self.app = app
        self.faults = list(faults)
        self.calls: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request."""
        request = Request(environ)
        self.calls.append(_call_of(request))
        faults = [fault for fault in self.faults if fault.concerns(request)]
        if not faults:
            answered: Iterable[bytes] = self.app(environ, start_response)
            return answered
        # The server would send a file itself, behind our back.
        environ.pop("wsgi.file_wrapper", None)
        replies = [fault.before(request) for fault in faults if fault.before is not None]
        response = next((reply for reply in replies if isinstance(reply, Response)), None)
        response = response or request.get_response(self.app)
        if request.method != "HEAD":
            # Read it, and let the application close its files.
            response.body = response.body
        for fault in faults:
            if fault.after is not None:
                fault.after(request, response)
        replaced: Iterable[bytes] = response(environ, start_response)
        return replaced


def set_status(response: Response, code: int) -> None:
    """Give a response another status."""
    response.status = f"{code} {HTTPStatus(code).phrase}"


def status(call: str, code: int, *, only: int = 0) -> Fault:
    """Those calls are answered with another status; with ``only`` where they had that one."""

    def change(_request: Request, response: Response) -> None:
        if only in {0, response.status_int}:
            set_status(response, code)

    return Fault(call, after=change)


def header(call: str, name: str, value: str | None) -> Fault:
    """Responses to those calls have another value of a header, or none."""

    def change(_request: Request, response: Response) -> None:
        response.headers.pop(name, None)
        if value is not None:
            response.headers[name] = value

    return Fault(call, after=change)


def document(call: str, edit: Callable[[Any], object]) -> Fault:
    """The JSON of responses to those calls is changed in place."""

    def change(_request: Request, response: Response) -> None:
        if "json" in response.headers.get("Content-Type", "") and response.body:
            value = json.loads(response.body)
            with suppress(LookupError):
                edit(value)
            response.body = json.dumps(value).encode()

    return Fault(call, after=change)


def body(call: str, edit: Callable[[bytes], bytes]) -> Fault:
    """Responses to those calls have another body."""

    def change(request: Request, response: Response) -> None:
        if request.method != "HEAD" and response.body:
            response.body = edit(response.body)

    return Fault(call, after=change)


def replaces(call: str, pattern: str, replacement: str) -> Fault:
    """What matches the pattern in bodies of responses to those calls is replaced."""
    return body(call, lambda content: re.sub(pattern.encode(), replacement.encode(), content))


def ignores(call: str, *names: str) -> Fault:
    """Headers of those requests have no effect."""

    def change(request: Request) -> None:
        for name in names:
            request.headers.pop(name, None)

    return Fault(call, before=change)


def asks(call: str, edit: Callable[[dict[str, str]], object]) -> Fault:
    """The query of those requests is changed in place before the service reads it."""

    def change(request: Request) -> None:
        parameters = dict(request.GET)
        edit(parameters)
        request.query_string = urlencode(parameters)

    return Fault(call, before=change)


def receives_body(call: str, edit: Callable[[bytes], bytes]) -> Fault:
    """The body of those requests is another one."""
    return Fault(call, before=lambda request: setattr(request, "body", edit(request.body)))


def answers(call: str, code: int, answer: bytes = b"", **headers: str) -> Fault:
    """The service does nothing of those calls, and answers so; ``content_type="text/html"`` is a header."""

    def reply(_request: Request) -> Response:
        pairs = [(name.replace("_", "-").title(), value) for name, value in headers.items()]
        response = Response(headerlist=[*pairs, ("Content-Length", str(len(answer)))], app_iter=[answer])
        set_status(response, code)
        return response

    return Fault(call, before=reply)


def when(call: str, is_wrong: Callable[[Request, Response], object], code: int) -> Fault:
    """Those calls have another status where ``is_wrong`` says so."""

    def change(request: Request, response: Response) -> None:
        if is_wrong(request, response):
            set_status(response, code)

    return Fault(call, after=change)
