"""Answers of pages that are not pages."""

from typing import Any

from pyramid.response import Response


class Redirect(Response):
    """A redirect whose ``Location`` stays relative: the request's ``Host`` decides nothing (decisions 1.10)."""

    def __init__(self, location: str, status: int = 303) -> None:
        super().__init__(status=status, headerlist=[("Location", location), ("Content-Length", "0")])

    def _abs_headerlist(self, environ: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - WebOb's hook
        return list(self.headerlist)
