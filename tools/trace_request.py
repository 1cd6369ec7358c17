"""Shows what one GET does: ``.venv/bin/python -W ignore tools/trace_request.py development.ini /Modhub/1``.

Prints the response, the context, the views that ran, and every SQL statement with its values. ``--profile 200``
repeats the request 200 times under cProfile and prints the functions that take most of the time. The application
runs in this process, without a server; see docs/contributing.md.
"""

import argparse
import cProfile
import pstats
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from pyramid.events import ContextFound
from pyramid.paster import get_app, setup_logging
from pyramid.request import Request
from sqlalchemy import event

from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.web.public_reads import ResponseCache

SHOWN_FUNCTIONS = 25


def main(arguments: Sequence[str] | None = None) -> int:
    """Trace the request. Returns 1 if the response is an error."""
    options = _parser().parse_args(arguments)
    setup_logging(options.ini)
    app = get_app(options.ini)
    # A kept response has nothing to show.
    find_service(app.registry, ResponseCache).read_stamp = lambda: None
    # Warm up: the first request compiles templates and statements.
    _send(app, options)
    with _recording(app.registry) as events:
        started = time.perf_counter()
        response = _send(app, options)
        seconds = time.perf_counter() - started
    lines = [f"GET {options.path} -> {response.status}, {len(response.body)} bytes, {seconds * 1000:.1f} ms", *events]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    if options.profile:
        _profile(app, options)
    return int(response.status_int >= 400)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Show what one GET request does.")
    parser.add_argument("ini")
    parser.add_argument("path", help="such as /Modhub/1 or /api/modhub?q=hud")
    parser.add_argument("--header", action="append", default=[], help="such as 'Authorization: Bearer …'")
    parser.add_argument("--profile", type=int, metavar="TIMES", help="repeat the request under cProfile")
    return parser


def _send(app: Any, options: argparse.Namespace) -> Any:
    request = Request.blank(options.path, environ={"REMOTE_ADDR": "127.0.0.1"})
    for header in options.header:
        name, _, value = header.partition(":")
        request.headers[name.strip()] = value.strip()
    return request.get_response(app)


def _profile(app: Any, options: argparse.Namespace) -> None:
    profile = cProfile.Profile()
    with profile:
        for _ in range(options.profile):
            _send(app, options)
    pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(SHOWN_FUNCTIONS)


@contextmanager
def _recording(registry: Any) -> Iterator[list[str]]:
    """Yields a list that collects a line for each event in this thread."""
    lines: list[str] = []
    views = _views(registry)

    def record_context(found_event: ContextFound) -> None:
        request = found_event.request
        kind = type(request.context)
        lines.append(f"context  {kind.__module__}.{kind.__qualname__}, view name {request.view_name!r}")

    def record_statement(_connection: Any, _cursor: Any, sql: str, values: Any, *_: Any) -> None:
        lines.append(f"sql      {' '.join(sql.split())}  {values!r}")

    def record_view(frame: FrameType, kind: str, _argument: object) -> None:
        if kind == "call" and frame.f_code in views:
            lines.append(f"view     {views[frame.f_code]}")

    databases = find_service(registry, Databases)
    engines = (databases.write_engine, databases.readonly_engine, databases.best_effort_engine)
    registry.registerHandler(record_context, (ContextFound,))
    for engine in engines:
        event.listen(engine, "before_cursor_execute", record_statement)
    sys.setprofile(record_view)
    try:
        yield lines
    finally:
        sys.setprofile(None)
        registry.unregisterHandler(record_context, (ContextFound,))
        for engine in engines:
            event.remove(engine, "before_cursor_execute", record_statement)


def _views(registry: Any) -> dict[CodeType, str]:
    """The code object of every view, with its name and location."""
    callables = [entry["introspectable"]["callable"] for entry in registry.introspector.get_category("views")]
    codes = [(view.__code__, view) for view in callables if hasattr(view, "__code__")]
    return {
        code: f"{view.__module__}.{view.__qualname__} ({code.co_filename}:{code.co_firstlineno})"
        for code, view in codes
    }


if __name__ == "__main__":
    sys.exit(main())
