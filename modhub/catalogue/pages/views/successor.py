"""The workshop's form for the mod that supersedes another one."""

import re
from typing import Any, Final

from modhub.base.errors import ApiError, invalid
from modhub.catalogue.owner_views import account_id_of
from modhub.catalogue.pages.presenters.form_errors import field_message
from modhub.catalogue.pages.views.workshop import edit_page_context, form, workshop_done
from modhub.catalogue.resources import ModResource
from modhub.catalogue.successors import change_successor
from modhub.http.request import Request
from modhub.interfaces import IMods, IOwnMod
from modhub.ui import forms
from modhub.ui.template_helpers import PageHelpers
from modhub.web.traversal import parse_id

_GUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_PATH: Final = re.compile(r"/Modhub/(?:mine/)?([0-9]{1,18})/?(?:[?#]\S*)?")


def _successor_guid(request: Request, typed: str) -> str:
    """Return the GUID for a GUID or an address of ours. Somebody else's draft is like a mod that does not exist."""
    if not typed or _GUID.fullmatch(typed):
        return typed
    path = _PATH.fullmatch(typed.removeprefix(PageHelpers(request).absolute("")))
    mod_id = parse_id(path[1]) if path else None
    mod = request.find_service(IMods).get_mods(request.dbsession, [mod_id or 0]).get(mod_id or 0)
    if mod is None or not (mod.published or mod.owner == account_id_of(request)):
        raise invalid("Enter the GUID or the address of a mod on this site, such as /Modhub/12.", field="supersededBy")
    return mod.guid


@form(context=IOwnMod, name="superseded", preserve_fields={"supersededBy": "Superseded by"})
def supersede_mod_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/superseded``: an empty field removes the note."""
    typed = request.POST.get("supersededBy", "").strip()
    try:
        change_successor(request.dbsession, context.id, account_id_of(request), _successor_guid(request, typed))
    except ApiError as error:
        forms.set_error_status(request, error)
        errors = {"supersededBy": field_message(request, error)}
        return edit_page_context(request, context.id, errors=errors, typed={"supersededBy": typed})
    return workshop_done(context.id or 0, "superseded", anchor="#superseded")
