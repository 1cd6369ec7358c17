"""An application that keeps all of the contract but for one thing, for tests of what notices it."""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from webob import Request, Response

Edit = Callable[[Request, Response], object]


@dataclass(frozen=True)
class Fault:
    """What is wrong with the calls whose ``METHOD path?query`` matches ``call`` as a whole.

    ``before`` may change the request, ``after`` the response.
    """

    call: str
    before: Callable[[Request], object] | None = None
    after: Edit | None = None

    def concerns(self, request: Request) -> bool:
        """Whether it is about this request."""
        return re.fullmatch(self.call, f"{request.method} {request.path_qs}") is not None


class BrokenService:
    """WSGI: the application, with ``faults``; ``calls`` lists what was asked. Bodies are read whole."""

    def __init__(self, app: Any, *faults: Fault) -> None:
        self.app = app
        self.faults = list(faults)
        self.calls: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request."""
        request = Request(environ)
        self.calls.append(f"{request.method} {request.path_qs}")
        faults = [fault for fault in self.faults if fault.concerns(request)]
        if request.method == "HEAD" or not faults:
            answered: Iterable[bytes] = self.app(environ, start_response)
            return answered
        for fault in faults:
            if fault.before is not None:
                fault.before(request)
        response = request.get_response(self.app)
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
    return Fault(call, after=lambda _request, response: setattr(response, "body", edit(response.body)))


def ignores(call: str, name: str) -> Fault:
    """A header of those requests has no effect."""
    return Fault(call, before=lambda request: request.headers.pop(name, None))


def receives(call: str, edit: Callable[[Any], object]) -> Fault:
    """The JSON of those requests is changed in place before the service reads it."""

    def change(request: Request) -> None:
        with suppress(ValueError, LookupError, AttributeError):
            value = json.loads(request.body)
            edit(value)
            request.body = json.dumps(value).encode()

    return Fault(call, before=change)


def receives_body(call: str, edit: Callable[[bytes], bytes]) -> Fault:
    """The body of those requests is another one."""
    return Fault(call, before=lambda request: setattr(request, "body", edit(request.body)))


def answers(call: str, code: int, answer: bytes = b"") -> Fault:
    """The service does nothing of those calls, and answers so."""

    def divert(request: Request) -> None:
        request.method, request.path_info, request.query_string = "GET", "/healthz", ""

    def change(_request: Request, response: Response) -> None:
        set_status(response, code)
        response.body = answer

    return Fault(call, before=divert, after=change)


def when(call: str, is_wrong: Callable[[Request, Response], object], code: int) -> Fault:
    """Those calls have another status where ``is_wrong`` says so."""

    def change(request: Request, response: Response) -> None:
        if is_wrong(request, response):
            set_status(response, code)

    return Fault(call, after=change)
