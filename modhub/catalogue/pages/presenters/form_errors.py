"""Map API errors to the workshop's form fields, with translated messages."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from modhub.base.errors import BODY_TOO_LARGE, UPLOAD_TOO_LARGE, ApiError
from modhub.catalogue.references import Lists, check_references
from modhub.catalogue.request_schemas import ModChange
from modhub.catalogue.uploads import IMAGES_TOO_LARGE
from modhub.content.text import N_
from modhub.ui.template_helpers import PageHelpers
from modhub.web.request import Request

DETAIL_FIELDS: Final = {
    "title": "Title",
    "description": "Description",
    "games": "Games",
    "requires": "Requires",
    "conflictsWith": "Conflicts with",
}
NOTE_FIELDS: Final = {"title": "Title", "text": "What changed"}
FIELD_LABELS: Final = {
    **DETAIL_FIELDS,
    **NOTE_FIELDS,
    "version": "Version",
    "caption": "Caption",
    "supersededBy": "Superseded by",
}
"""Labels by JSON field name; translated where they are shown."""


def field_message(request: Request, error: ApiError) -> str:
    """Return the error as a translated sentence, with field labels instead of JSON names."""
    ui = PageHelpers(request)
    translate = ui.messages.gettext
    limit = error.extra.get("limitBytes")
    if error.sentence not in {UPLOAD_TOO_LARGE, IMAGES_TOO_LARGE, BODY_TOO_LARGE} or limit is None:
        return error.localized(
            translate, {name: translate(N_("“%(name)s”"), name=translate(FIELD_LABELS[name])) for name in FIELD_LABELS}
        )
    if error.sentence == IMAGES_TOO_LARGE:
        return translate(N_("The images may have at most %(size)s in total. Nothing was saved."), size=ui.size(limit))
    return translate(N_("The file is too large; the limit is %(size)s. Nothing was saved."), size=ui.size(limit))


def field_of(error: ApiError, default: str = "") -> str:
    """Return the JSON name of the field with the error."""
    return str(error.values.get("field", default))


def detail_errors(
    request: Request, error: ApiError, submitted: Mapping[str, Any], own_guid: str = ""
) -> dict[str, str]:
    """Return the messages for ``error`` and all other errors in ``submitted``, by field."""
    mod = ModChange(**submitted)
    checks: tuple[Callable[[], object], ...] = (
        mod.clean_title if "title" in submitted else lambda: None,
        lambda: check_references(Lists(requires=mod.lists().requires), own_guid),
        lambda: check_references(Lists(conflicts=mod.lists().conflicts), own_guid),
    )
    errors = {field_of(error): error}
    for check in checks:
        try:
            check()
        except ApiError as another:
            errors.setdefault(field_of(another), another)
    return {name: field_message(request, errors[name]) for name in sorted(errors, key=[*DETAIL_FIELDS, ""].index)}
