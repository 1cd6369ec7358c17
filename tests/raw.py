"""Requests that no client library would make, straight to the application."""

from typing import NamedTuple

from webob import Request


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def call(site, path, method="GET", query="", **environ):
    """With the path as the server has decoded it, and this environ, which WebTest would read itself."""
    request = Request.blank("/", environ={**site.extra_environ, **environ}, method=method)
    begun = []
    body = site.app({**request.environ, "PATH_INFO": path, "QUERY_STRING": query}, lambda *start: begun.append(start))
    whole = b"".join(body)
    getattr(body, "close", lambda: None)()
    return Answer(int(begun[-1][0][:3]), dict(begun[-1][1]), whole)
