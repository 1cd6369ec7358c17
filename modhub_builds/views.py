"""Calls of app builds: public reads without credentials, and those of the build agent."""

from typing import Any, Final

from pyramid.response import Response

from modhub.base.errors import found, invalid
from modhub.base.operations import RANGED_FILE, FileBody, Lead, Operation, Parameter, Refusal, body_over
from modhub.content import limits as core_limits
from modhub.content import text
from modhub.web.downloads import file_response
from modhub.web.payload import encode, query, read_text
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.uploads import receive_upload
from modhub.web.views import OPEN, api, page
from modhub_builds import limits, services
from modhub_builds.models import Build
from modhub_builds.read_service import BuildReader, Release
from modhub_builds.resources import (
    BuildPermission,
    BuildResource,
    IBuild,
    IBuildPlatform,
    IBuilds,
    ISections,
    PlatformResource,
)
from modhub_builds.schemas import (
    BuildsDocument,
    PopDocument,
    PushDocument,
    UploadDocument,
    build_url,
    is_platform,
    newest_url,
)

NO_BUILD: Final = Refusal(404, "not_found", "No such build of this system.")


def build_reader(request: Request) -> BuildReader:
    """The read service of app builds."""
    return BuildReader(request.databases.raw_queries)


@api(
    context=IBuilds,
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="list_builds",
        about="The builds of the app by operating system, and its changelog.",
        returns=BuildsDocument,
        clauses=("C-APP-5", "C-APP-11"),
    ),
)
def list_builds_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/app``"""
    return public_json(encode(build_reader(request).document()))


@page(
    context=IBuildPlatform,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="download_newest_build",
        about="The newest build for an operating system.",
        returns=RANGED_FILE,
        refusals=(NO_BUILD,),
        clauses=("C-APP-7", "C-FILE-1", "C-FILE-2"),
    ),
)
def download_newest_view(context: PlatformResource, request: Request) -> Response:
    """``GET /Modhub/app/{os}``: cached only with revalidation."""
    return _file_response(request, build_reader(request).newest(context.__name__), moving=True)


@page(
    context=IBuild,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="download_build",
        about="One build. Always the same file.",
        returns=RANGED_FILE,
        refusals=(NO_BUILD,),
        clauses=("C-APP-7", "C-FILE-1", "C-FILE-2"),
    ),
)
def download_build_view(context: BuildResource, request: Request) -> Response:
    """``GET /Modhub/app/{os}/{id}``: always the same file."""
    return _file_response(request, build_reader(request).build(context.os, context.id), moving=False)


def _file_response(request: Request, release: Release | None, *, moving: bool) -> Response:
    return file_response(request, request.store, found(release).file(moving=moving))


@api(
    context=IBuildPlatform,
    request_method="POST",
    permission=BuildPermission.PUBLISH,
    operation=Operation(
        id="upload_build",
        about="Publish a build of the app for one operating system.",
        takes=FileBody("The file itself."),
        returns=UploadDocument,
        status=201,
        parameters=(
            Parameter(
                "version", f"A label, cut at {core_limits.VERSION} characters; it need not be new.", example="1.4"
            ),
            Parameter(
                "name",
                f"The name to save it under: the last part of a path, at most {core_limits.FILE_NAME} characters; "
                "`modhub-{os}.zip` when not sent.",
            ),
        ),
        refusals=(
            Refusal(
                400,
                "invalid_input",
                "`{os}` is no such name, an empty body, a multipart form, or a `Content-Encoding`.",
            ),
            body_over(limits.BUILD),
        ),
        leads_to=(Lead("download_newest_build", {"os": "$response.body#/os"}),),
        clauses=("C-APP-1", "C-APP-2", "C-APP-3", "C-KEY-1", "C-KEY-2"),
    ),
)
def upload_build_view(context: PlatformResource, request: Request) -> UploadDocument:
    """``POST /api/modhub/app/{os}``: on any error nothing is stored."""
    os = context.__name__
    if not is_platform(os):
        message = (
            "The name of an operating system is words of a-z and 0-9 joined by single hyphens, such as windows, "
            f"of at most {limits.OS} characters."
        )
        raise invalid(message)
    blob = receive_upload(request, limits.BUILD).blob
    build = Build(
        os=os,
        version=text.version(query(request, "version")),
        name=text.file_name(query(request, "name"), f"modhub-{os}.zip"),
        content_type=text.content_type(request.environ.get("CONTENT_TYPE")),
    )
    services.add_build(request.dbsession, build, blob)
    request.response.status_int = 201
    return UploadDocument(os, build.version, blob.size, build_url(os, build.id), newest_url(os))


@api(
    context=ISections,
    request_method="POST",
    permission=BuildPermission.PUBLISH,
    operation=Operation(
        id="push_app_section",
        about="Put a section on top of the app's changelog.",
        takes=FileBody("Plain text in UTF-8.", "text/plain"),
        returns=PushDocument,
        status=201,
        refusals=(
            Refusal(400, "invalid_input", "Empty, only white space, a multipart form, or not UTF-8."),
            body_over(limits.SECTION),
        ),
        clauses=("C-APP-8", "C-APP-11", "C-KEY-1", "C-KEY-2"),
    ),
)
def push_section_view(_context: Any, request: Request) -> PushDocument:
    """``POST /api/modhub/app/changelog``"""
    section = services.clean_section(read_text(request, limits.SECTION))
    changelog = services.push_section(request.dbsession, section)
    request.response.status_int = 201
    return PushDocument(len(section), len(changelog))


@api(
    context=ISections,
    request_method="DELETE",
    permission=BuildPermission.PUBLISH,
    operation=Operation(
        id="pop_app_section",
        about="Remove the newest section of the app's changelog.",
        returns=PopDocument,
        refusals=(Refusal(404, "not_found", "There is no section to remove."),),
        clauses=("C-APP-10", "C-KEY-1", "C-KEY-2"),
    ),
)
def pop_section_view(_context: Any, request: Request) -> PopDocument:
    """``DELETE /api/modhub/app/changelog``"""
    changelog = services.pop_section(request.dbsession)
    return PopDocument(changelog, len(changelog))
