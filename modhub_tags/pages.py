"""What pages show: the tags of a mod to everybody, the choice to its owner, and the filter of the list."""

from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render

from modhub.base.errors import ApiError
from modhub.content.text import N_
from modhub.plugins.events import ModDetailsSaving
from modhub.plugins.resources import IOwnMod
from modhub.plugins.services import IMods
from modhub.ui.template_helpers import PageHelpers, translations_for
from modhub.web.request import Request
from modhub_tags import services
from modhub_tags.limits import MOST
from modhub_tags.read_service import listed_tags, tags_of_mod, titles_in

FILTER_TITLE: Final = N_("Tag")
NO_FILTER: Final = N_("All tags")
SEEN: Final = "tagsSeen"
"""The hidden field with the tags that the form was rendered with."""


def filter_labels(request: Request) -> dict[str, str]:
    """The tags that the list can be filtered by, in the reader's language."""
    return titles_in(listed_tags(request.databases.raw_queries), translations_for(request).language)


def tags_panel(context: Any, request: Request) -> Markup | None:
    """The tags of a mod, each a link to the mods with it. The page has checked that the reader may see the mod."""
    if context.id is None:
        return None
    tags = tags_of_mod(request.databases.raw_queries, context.id)
    if not tags:
        return None
    ui = PageHelpers(request)
    return ui.render("modhub_tags:templates/mod.jinja2", tags=titles_in(tags, ui.lang))


def _typed_tags(request: Request) -> list[str] | None:
    """The tags that are ticked in the form; a form that was sent again has them in one field. None without the form."""
    if SEEN not in request.POST:
        return None
    return sorted({name for value in request.POST.getall("tag") for name in value.split()})


def choice_panel(context: Any, request: Request, errors: Mapping[str, str]) -> Markup | None:
    """The fields in the form of a mod's details."""
    offered = listed_tags(request.databases.raw_queries)
    if not offered or not IOwnMod.providedBy(context):
        return None
    stored = [tag.name for tag in tags_of_mod(request.databases.raw_queries, context.id)]
    typed = _typed_tags(request)
    values = {
        "offered": titles_in(offered, translations_for(request).language),
        "chosen": stored if typed is None else typed,
        "seen": request.POST.get(SEEN, " ".join(stored)),
        "most": MOST,
        "error": errors.get("tag"),
    }
    return Markup(render("modhub_tags:templates/workshop.jinja2", values, request=request))  # noqa: S704 - a template


def save_choice(event: ModDetailsSaving) -> None:
    """Change the tags, unless they are those that the form was rendered with: another tab may have changed them."""
    request = event.request
    typed = _typed_tags(request)
    if typed is None or typed == request.POST[SEEN].split():
        return
    mods, owner = request.find_service(IMods), request.authenticated_userid
    try:
        services.change_tags(request.dbsession, mods, event.mod_id, owner, typed)
    except ApiError as refused:
        event.errors["tag"] = refused.localized(translations_for(request).gettext)
