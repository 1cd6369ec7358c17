"""App builds for readers: no credential is looked at."""

from typing import Any

from pyramid.response import Response

from modhub.downloads import file_response
from modhub.errors import not_found
from modhub.reads import ready
from modhub.request import Request
from modhub.views import OPEN, api, page
from modhub_builds.finding import Finder, Release
from modhub_builds.interfaces import IBuild, IBuilds, IPlatform
from modhub_builds.resources import Build, Platform


def finder(request: Request) -> Finder:
    """The reading side of app builds."""
    found: Finder = request.registry.builds
    return found


@api(context=IBuilds, request_method="GET", permission=OPEN)
def list_builds(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/app``"""
    return ready(request, finder(request).shown().body)


@page(context=IPlatform, request_method="GET", permission=OPEN)
def download_newest(context: Platform, request: Request) -> Response:
    """``GET /Modhub/app/{os}``: cached only with revalidation."""
    return _file(request, finder(request).newest(context.__name__), moving=True)


@page(context=IBuild, request_method="GET", permission=OPEN)
def download(context: Build, request: Request) -> Response:
    """``GET /Modhub/app/{os}/{id}``: the same for ever."""
    return _file(request, finder(request).one(context.os, context.id), moving=False)


def _file(request: Request, release: Release | None, *, moving: bool) -> Response:
    if release is None:
        raise not_found()
    return file_response(request, request.store, release.file(moving=moving))
