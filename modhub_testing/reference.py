"""Helpers for tests of the reference at ``/Modhub/doc``: which calls exist, which are described, and the examples.

Nothing here depends on a feature: calls are found by walking the resource tree and the registered views.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from zope.interface.interfaces import IInterface

from modhub.base.service_registry import find_service
from modhub.plugins.declarations import Declarations
from modhub.web.request import Request, is_api_path
from modhub.web.traversal import ANY, Resource, root_factory
from modhub_testing import Site

Call = tuple[str, str]
"""A method and a path in which ``{}`` stands for a variable segment."""

_VARIABLE = re.compile(r"\{[^}]*\}")


def _places(site: Site) -> Iterator[tuple[str, Resource]]:
    """Yield the path and resource of every node of the tree, with ``{}`` for variable segments."""
    request = Request.blank("/")
    request.registry = site.registry
    waiting: list[tuple[str, Resource]] = [("", root_factory(request))]
    while waiting:
        path, resource = waiting.pop()
        yield path, resource
        for name, make in resource.children.items():
            if name == ANY:
                continue
            with suppress(KeyError):  # only there for some callers
                waiting.append((f"{path}/{name}", make(resource, name)))
        try:
            member = resource.get_member("1")
        except KeyError:
            continue
        waiting.append((f"{path}/{{}}", member))


def methods_of(view: Any) -> set[str]:
    """Return the methods of an introspected view."""
    methods = view["request_methods"] or ()
    return ({methods} if isinstance(methods, str) else set(methods)) - {"HEAD", "OPTIONS"}


def served_views(site: Site) -> Iterator[tuple[str, Resource, Any]]:
    """Yield (address, resource, introspectable) of every view, in the API and on the site."""
    entries = site.config.introspector.get_category("views") or ()
    views = [entry["introspectable"] for entry in entries if not entry["introspectable"]["exception_only"]]
    views = [view for view in views if IInterface.providedBy(view["context"])]
    for path, resource in _places(site):
        for view in views:
            address = f"{path}/{view['name']}" if view["name"] else path
            same_side = view.get("is_api") == is_api_path(address)
            if same_side and view["context"].providedBy(resource):
                yield address or "/", resource, view


def calls(site: Site) -> set[Call]:
    """Return every call that has a view, in the API and on the site."""
    return {(method, address) for address, _, view in served_views(site) for method in methods_of(view)}


def for_programs(site: Site, served: set[Call]) -> set[Call]:
    """Return the calls that must be described: the API, files and feeds, but not the pages and their forms."""
    read = find_service(site.registry, Declarations).cross_origin
    return {
        (method, path)
        for method, path in served
        if is_api_path(path)
        or (method == "GET" and any(pattern.fullmatch(path.replace("{}", "1")) for pattern in read))
    }


def described(page: Any) -> set[Call]:
    """Return the calls that the parsed page describes."""
    documented = set()
    for code in page.select("code.call"):
        methods, _, address = code.text.rpartition(" ")
        documented |= {(method.strip(), _VARIABLE.sub("{}", address)) for method in methods.split(",")}
    return documented


@dataclass(frozen=True)
class Example:
    """Shell lines that call curl once, and the documented response."""

    lines: str
    status: int = 200
    shape: Any = None
    """The JSON of the response; None if the page shows none."""
    own: bool = True
    """Whether the JSON is shown for this request, so that its non-empty lists must not be empty."""


@dataclass(frozen=True)
class Sent:
    """The request that curl would send."""

    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def examples(page: Any) -> list[Example]:
    """Return every request of the page with the response that follows it."""
    shapes = {figure["id"]: json.loads(figure.pre.text) for figure in page.select("figure.answer[id]")}
    listed = []
    for request in page.select("pre.request"):
        answer = request.find_next_sibling()
        if "answer" not in answer.get("class", ()):
            listed.append(Example(request.text))
            continue
        own = answer.pre is not None
        shape = json.loads(answer.pre.text) if own else shapes.get(f"shape-{answer.get('data-shape')}")
        listed.append(Example(request.text, int(answer["data-status"]), shape, own))
    return listed


def sent_bodies(lines: str, environ: Mapping[str, str], files: Mapping[str, bytes]) -> Sent:
    """Return the request that the shell lines would send; ``@name`` is a file. AssertionError: not one curl call."""
    shell = subprocess.run(  # noqa: S603 - lines of our own templates
        ["sh", "-euc", 'curl() { printf "%s\\0" "$@" end; }\n' + lines],  # noqa: S607 - whichever sh there is
        env={"PATH": "/bin:/usr/bin", **environ},
        capture_output=True,
        timeout=200,
        check=True,
    )
    words = shell.stdout.decode().split("\0")
    assert words.count("end") == 1, lines
    return _read_words(iter(words[: words.index("end")]), files)


def _read_words(words: Iterator[str], files: Mapping[str, bytes]) -> Sent:
    method, address, body, headers = "", "", None, {}
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word in {"-d", "--data-binary"}:
            data = next(words)
            body = files[data.removeprefix("@")] if data.startswith("@") else data.encode()
        elif word == "-X":
            method = next(words)
        elif word in {"-o", "-C"}:
            next(words)
        elif not word.startswith("-"):
            assert not address, f"two addresses: {address} {word}"
            address = word
    split = urlsplit(address)
    path = split.path + (f"?{split.query}" if split.query else "")
    return Sent(method or ("GET" if body is None else "POST"), path, body or b"", headers)


def example_differences(shown: Any, real: Any, where: str = "the answer", *, filled: bool = True) -> list[str]:
    """Return where ``real`` has other fields or types than the example; ``null`` matches anything.

    ``filled``: a list that is not empty in the example must not be empty.
    """
    if shown is None or real is None:
        return []
    if type(shown) is not type(real):
        return [f"{where} is {type(real).__name__}, not {type(shown).__name__}"]
    if isinstance(shown, dict):
        odd = [f"{where} has {name!r} on one side only" for name in shown.keys() ^ real.keys()]
        both = shown.keys() & real.keys()
        below = ((shown[name], real[name], f"{where}.{name}") for name in sorted(both))
        return odd + [
            line for item, other, place in below for line in example_differences(item, other, place, filled=filled)
        ]
    if isinstance(shown, list) and shown:
        empty = [f"{where} is empty"] if filled and not real else []
        return empty + [
            line for item in real for line in example_differences(shown[0], item, f"{where}[]", filled=filled)
        ]
    return []
