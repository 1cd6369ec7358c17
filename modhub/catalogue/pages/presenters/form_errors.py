"""What the workshop says about a refusal: beside the field that it is about, by the field's label, translated."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from modhub.catalogue.references import Lists, check_references
from modhub.catalogue.request_schemas import NewMod
from modhub.errors import ApiError
from modhub.limits import IMAGES
from modhub.request import Request
from modhub.text import N_
from modhub.ui.template_helpers import PageHelpers

DETAIL_FIELDS: Final = {
    "title": "Title",
    "description": "Description",
    "games": "Games",
    "requires": "Requires",
    "conflictsWith": "Conflicts with",
}
NOTE_FIELDS: Final = {"title": "Title", "text": "What changed"}
FIELD_LABELS: Final = {**DETAIL_FIELDS, **NOTE_FIELDS, "version": "Version"}
"""The labels of the fields, by JSON's names for them; translated where they are shown."""
_TOO_LARGE: Final = 413


def field_message(request: Request, refusal: ApiError) -> str:
    """The refusal as a sentence for whoever reads the page."""
    ui = PageHelpers(request)
    translate = ui.messages.gettext
    limit = refusal.extra.get("limitBytes")
    if refusal.status != _TOO_LARGE or limit is None:
        return refusal.localized(
            translate, {name: translate(N_("“%(name)s”"), name=translate(FIELD_LABELS[name])) for name in FIELD_LABELS}
        )
    if limit == IMAGES:
        return translate(N_("The images may have at most %(size)s in total. Nothing was saved."), size=ui.size(limit))
    return translate(N_("The file is too large; the limit is %(size)s. Nothing was saved."), size=ui.size(limit))


def field_of(refusal: ApiError, otherwise: str = "") -> str:
    """The field that a refusal is about."""
    return str(refusal.values.get("field", otherwise))


def in_details(request: Request, refusal: ApiError, given: Mapping[str, Any], own_guid: str = "") -> dict[str, str]:
    """``refusal``, and whatever else is wrong with ``given``, by field: all at once, not one after the other."""
    sent = NewMod(**given)
    checks: tuple[Callable[[], object], ...] = (
        sent.clean_title if "title" in given else lambda: None,
        lambda: check_references(Lists(requires=sent.lists().requires), own_guid),
        lambda: check_references(Lists(conflicts=sent.lists().conflicts), own_guid),
    )
    wrong = {field_of(refusal): refusal}
    for check in checks:
        try:
            check()
        except ApiError as found:
            wrong.setdefault(field_of(found), found)
    return {name: field_message(request, wrong[name]) for name in sorted(wrong, key=[*DETAIL_FIELDS, ""].index)}
