"""Public reads of app builds, without credentials."""

from typing import Any

from pyramid.response import Response

from modhub.base.errors import not_found
from modhub.web.downloads import file_response
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.views import OPEN, api, page
from modhub_builds import operations
from modhub_builds.interfaces import IBuild, IBuildPlatform, IBuilds
from modhub_builds.read_service import BuildReader, Release
from modhub_builds.resources import BuildResource, PlatformResource


def build_reader(request: Request) -> BuildReader:
    """The read service of app builds."""
    return BuildReader(request.databases.raw_queries)


@api(context=IBuilds, request_method="GET", permission=OPEN, response_cache=True, operation=operations.LIST_BUILDS)
def list_builds_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/app``"""
    return public_json(build_reader(request).listing().body)


@page(context=IBuildPlatform, request_method="GET", permission=OPEN, operation=operations.DOWNLOAD_NEWEST_BUILD)
def download_newest_view(context: PlatformResource, request: Request) -> Response:
    """``GET /Modhub/app/{os}``: cached only with revalidation."""
    return _file_response(request, build_reader(request).newest(context.__name__), moving=True)


@page(context=IBuild, request_method="GET", permission=OPEN, operation=operations.DOWNLOAD_BUILD)
def download_build_view(context: BuildResource, request: Request) -> Response:
    """``GET /Modhub/app/{os}/{id}``: always the same file."""
    return _file_response(request, build_reader(request).build(context.os, context.id), moving=False)


def _file_response(request: Request, release: Release | None, *, moving: bool) -> Response:
    if release is None:
        raise not_found()
    return file_response(request, request.store, release.file(moving=moving))
