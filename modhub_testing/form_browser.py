"""Cookies and forms over a loopback socket: as much of a browser as tests of real processes need."""

import re
from collections.abc import Mapping
from urllib.parse import urlencode

from modhub_testing.caller import Caller, CallerResponse

_TOKEN = re.compile(rb'name="csrf_token"[^>]*value="([^"]+)"')


class Browser:
    """A visitor of pages with cookies of its own. ``pages`` is every answer so far."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.cookies: dict[str, str] = {}
        self.pages: list[CallerResponse] = []

    def get(self, path: str) -> CallerResponse:
        """Read a page."""
        return self._ask("GET", path)

    def form(self, path: str) -> str:
        """The token of the forms of a page."""
        match = _TOKEN.search(self.get(path).body)
        assert match is not None, (path, self.pages[-1])
        return match[1].decode()

    def post(self, path: str, fields: Mapping[str, str], token: str | None = None) -> CallerResponse:
        """Send the form of a page; with its ``token`` the page is not fetched first."""
        return self._ask("POST", path, {**fields, "csrf_token": token or self.form(path)})

    def _ask(self, method: str, path: str, fields: Mapping[str, str] | None = None) -> CallerResponse:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        body = None
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(fields).encode()
        answer = self.caller.ask(method, path, body, headers)
        for cookie in answer.headers.get_all("Set-Cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        self.pages.append(answer)
        return answer
