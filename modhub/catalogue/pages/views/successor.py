"""The workshop's form for the mod that supersedes another one."""

from typing import Any

from modhub.base.errors import ApiError
from modhub.catalogue.owner_views import account_id_of
from modhub.catalogue.pages.presenters.form_errors import field_message
from modhub.catalogue.pages.typed_details import resolve_reference
from modhub.catalogue.pages.views.workshop import edit_page_context, form, workshop_done
from modhub.catalogue.resources import ModResource
from modhub.catalogue.successors import change_successor
from modhub.plugins.resources import IOwnMod
from modhub.ui import forms
from modhub.web.request import Request


@form(context=IOwnMod, name="superseded", preserve_fields={"supersededBy": "Superseded by"})
def supersede_mod_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/superseded``: an empty field removes the note."""
    typed = request.POST.get("supersededBy", "").strip()
    try:
        guid = resolve_reference(request, typed, "supersededBy") if typed else ""
        change_successor(request.dbsession, context.id, account_id_of(request), guid)
    except ApiError as error:
        forms.set_error_status(request, error)
        errors = {"supersededBy": field_message(request, error)}
        return edit_page_context(request, context.id, part="publish", errors=errors, typed={"supersededBy": typed})
    return workshop_done(context.id or 0, "superseded", part="publish", anchor="#superseded")
