"""Requests that no client library would make, straight to the application."""

from typing import Any, NamedTuple

from webob import Request

from modhub_testing import Site


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def call(site: Site, path: str, method: str = "GET", query: str = "", **environ: Any) -> Answer:
    """With the path as the server has decoded it, and this environ, which WebTest would read itself."""
    request = Request.blank("/", environ={**site.extra_environ, **environ}, method=method)
    begun: list[Any] = []
    body = site.app({**request.environ, "PATH_INFO": path, "QUERY_STRING": query}, lambda *start: begun.append(start))
    whole = b"".join(body)
    getattr(body, "close", lambda: None)()
    return Answer(int(begun[-1][0][:3]), dict(begun[-1][1]), whole)
