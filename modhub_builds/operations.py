"""What the API views declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Final

from modhub.base.operations import RANGED_FILE, FileBody, Operation, Parameter, Refusal
from modhub_builds.response_schemas import BuildsDocument, PopDocument, PushDocument, UploadDocument

NO_BUILD: Final = Refusal(404, "not_found", "No such build of this system.")


UPLOAD_BUILD: Final = Operation(
    id="upload_build",
    about="Publish a build of the app for one operating system.",
    takes=FileBody("The file itself."),
    returns=UploadDocument,
    status=201,
    parameters=(
        Parameter("version", "The label of the version."),
        Parameter("name", "The name to save the file under."),
    ),
    clauses=("C-APP-2",),
)
PUSH_APP_SECTION: Final = Operation(
    id="push_app_section",
    about="Put a section on top of the app's changelog.",
    takes=FileBody("Plain text in UTF-8.", "text/plain"),
    returns=PushDocument,
    status=201,
    clauses=("C-APP-5",),
)
POP_APP_SECTION: Final = Operation(
    id="pop_app_section",
    about="Remove the newest section of the app's changelog.",
    returns=PopDocument,
    refusals=(Refusal(404, "not_found", "There is no section."),),
    clauses=("C-APP-5",),
)
LIST_BUILDS: Final = Operation(
    id="list_builds",
    about="The builds of the app by operating system, and its changelog.",
    returns=BuildsDocument,
    clauses=("C-APP-2", "C-APP-5"),
)
DOWNLOAD_NEWEST_BUILD: Final = Operation(
    id="download_newest_build",
    about="The newest build for an operating system.",
    returns=RANGED_FILE,
    refusals=(NO_BUILD,),
    clauses=("C-APP-2",),
)
DOWNLOAD_BUILD: Final = Operation(
    id="download_build",
    about="One build. Always the same file.",
    returns=RANGED_FILE,
    refusals=(NO_BUILD,),
    clauses=("C-APP-2",),
)
