"""A constant response from a bare Pyramid view, on modhub's server or stock waitress: the baseline for reads."""

import sys
from pathlib import Path
from typing import Any

import waitress
from pyramid.config import Configurator
from pyramid.response import Response

from modhub.server import serve


def main(body: bytes, port: str, server: str = "modhub") -> None:
    def view(request: Any) -> Response:
        if request.headers.get("If-None-Match"):
            return Response(status=304, headerlist=[("ETag", '"constant"')])
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        return Response(headerlist=headers, app_iter=[body])

    with Configurator() as config:
        config.add_route("all", "/*path")
        config.add_view(view, route_name="all")
    listen = f"127.0.0.1:{port}"
    if server == "waitress":
        waitress.serve(config.make_wsgi_app(), listen=listen, threads=4, _quiet=True)
    else:
        serve(config.make_wsgi_app(), listen=listen, threads="4")


if __name__ == "__main__":
    main(Path(sys.argv[1]).read_bytes(), *sys.argv[2:])
