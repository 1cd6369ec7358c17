"""App builds for build agents: a machine key with the scope ``Modhub:app`` (C-APP-2)."""

from typing import Any

from modhub.base.errors import invalid
from modhub.content import text
from modhub.web.payload import query, read_text
from modhub.web.request import Request
from modhub.web.uploads import receive_upload
from modhub.web.views import api
from modhub_builds import limits, operations, services
from modhub_builds.interfaces import IBuildPlatform, ISections
from modhub_builds.platforms import is_platform
from modhub_builds.resources import BuildPermission, PlatformResource
from modhub_builds.response_schemas import PopDocument, PushDocument, UploadDocument, build_url, newest_url


@api(
    context=IBuildPlatform, request_method="POST", permission=BuildPermission.PUBLISH, operation=operations.UPLOAD_BUILD
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
    upload = services.BuildUpload(
        os=os,
        version=text.version(query(request, "version")),
        name=text.file_name(query(request, "name"), f"modhub-{os}.zip"),
        content_type=text.content_type(request.environ.get("CONTENT_TYPE")),
        blob=blob,
    )
    build = services.add_build(request.dbsession, upload)
    request.response.status_int = 201
    return UploadDocument(os, build.version, blob.size, build_url(os, build.id), newest_url(os))


@api(
    context=ISections, request_method="POST", permission=BuildPermission.PUBLISH, operation=operations.PUSH_APP_SECTION
)
def push_section_view(_context: Any, request: Request) -> PushDocument:
    """``POST /api/modhub/app/changelog``"""
    section = services.clean_section(read_text(request, limits.SECTION))
    changelog = services.push_section(request.dbsession, section)
    request.response.status_int = 201
    return PushDocument(len(section), len(changelog))


@api(
    context=ISections, request_method="DELETE", permission=BuildPermission.PUBLISH, operation=operations.POP_APP_SECTION
)
def pop_section_view(_context: Any, request: Request) -> PopDocument:
    """``DELETE /api/modhub/app/changelog``"""
    changelog = services.pop_section(request.dbsession)
    return PopDocument(changelog, len(changelog))
