"""What the workshop says about a refusal: beside the field that it is about, by the field's label, translated."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from modhub.catalogue.payloads import NewMod
from modhub.catalogue.references import Lists, check_references
from modhub.errors import Refusal
from modhub.limits import IMAGES
from modhub.pages.tools import Tools
from modhub.request import Request

DETAILS: Final = {
    "title": "Title",
    "description": "Description",
    "games": "Games",
    "requires": "Needs these mods",
    "conflictsWith": "Must not be installed beside",
}
NOTE: Final = {"title": "Title", "text": "What changed"}
LABELS: Final = {**DETAILS, **NOTE, "version": "Version"}
"""The labels of the fields, by JSON's names for them; translated where they are shown."""
_TOO_LARGE: Final = 413


def told(request: Request, refusal: Refusal) -> str:
    """The refusal as a sentence for whoever reads the page."""
    ui = Tools(request)
    translate = ui.messages.gettext
    limit = refusal.extra.get("limitBytes")
    if refusal.status != _TOO_LARGE or limit is None:
        return refusal.told(translate, {name: translate("“%(name)s”", name=translate(LABELS[name])) for name in LABELS})
    if limit == IMAGES:
        return translate("All images together may have at most %(size)s. Nothing was kept.", size=ui.size(limit))
    return translate("The file is too large; the limit is %(size)s. Nothing was kept.", size=ui.size(limit))


def field_of(refusal: Refusal, otherwise: str = "") -> str:
    """The field that a refusal is about."""
    return str(refusal.values.get("field", otherwise))


def in_details(request: Request, refusal: Refusal, given: Mapping[str, Any], own_guid: str = "") -> dict[str, str]:
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
        except Refusal as found:
            wrong.setdefault(field_of(found), found)
    return {name: told(request, wrong[name]) for name in sorted(wrong, key=[*DETAILS, ""].index)}
