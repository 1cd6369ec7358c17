"""What the API views declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Final

from modhub.base.operations import RANGED_FILE, FileBody, Lead, Operation, Parameter, Refusal, body_over
from modhub.content import limits as core_limits
from modhub_builds import limits
from modhub_builds.response_schemas import BuildsDocument, PopDocument, PushDocument, UploadDocument

NO_BUILD: Final = Refusal(404, "not_found", "No such build of this system.")


UPLOAD_BUILD: Final = Operation(
    id="upload_build",
    about="Publish a build of the app for one operating system.",
    takes=FileBody("The file itself."),
    returns=UploadDocument,
    status=201,
    parameters=(
        Parameter("version", f"A label, cut at {core_limits.VERSION} characters; it need not be new.", example="1.4"),
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
    clauses=("C-APP-1", "C-APP-2", "C-APP-3", "C-APP-4", "C-KEY-2", "C-KEY-4"),
)
PUSH_APP_SECTION: Final = Operation(
    id="push_app_section",
    about="Put a section on top of the app's changelog.",
    takes=FileBody("Plain text in UTF-8.", "text/plain"),
    returns=PushDocument,
    status=201,
    refusals=(
        Refusal(400, "invalid_input", "Empty, only white space, a multipart form, or not UTF-8."),
        body_over(limits.SECTION),
    ),
    clauses=("C-APP-8", "C-APP-9", "C-APP-11", "C-KEY-2", "C-KEY-4"),
)
POP_APP_SECTION: Final = Operation(
    id="pop_app_section",
    about="Remove the newest section of the app's changelog.",
    returns=PopDocument,
    refusals=(Refusal(404, "not_found", "There is no section to remove."),),
    clauses=("C-APP-10", "C-KEY-2", "C-KEY-4"),
)
LIST_BUILDS: Final = Operation(
    id="list_builds",
    about="The builds of the app by operating system, and its changelog.",
    returns=BuildsDocument,
    clauses=("C-APP-5", "C-APP-6", "C-APP-11"),
)
DOWNLOAD_NEWEST_BUILD: Final = Operation(
    id="download_newest_build",
    about="The newest build for an operating system.",
    returns=RANGED_FILE,
    refusals=(NO_BUILD,),
    clauses=("C-APP-7", "C-FILE-1", "C-FILE-2"),
)
DOWNLOAD_BUILD: Final = Operation(
    id="download_build",
    about="One build. Always the same file.",
    returns=RANGED_FILE,
    refusals=(NO_BUILD,),
    clauses=("C-APP-4", "C-APP-7", "C-FILE-1", "C-FILE-2"),
)
