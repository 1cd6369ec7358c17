"""What pages show: the tags of a mod to everybody, the choice to its owner, and the filter of the list."""

from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render

from modhub.base.errors import ApiError
from modhub.content.text import N_
from modhub.plugins.resources import IOwnMod
from modhub.plugins.services import IMods
from modhub.ui.forms import set_error_status
from modhub.ui.template_helpers import PageHelpers, translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.views import page
from modhub_tags import services
from modhub_tags.limits import MOST
from modhub_tags.read_service import TagReader, titles_in
from modhub_tags.resources import IOwnTags, OwnTagsResource, TagPermission

FILTER_TITLE: Final = N_("Tag")
NO_FILTER: Final = N_("All tags")
TAGS_SAVED: Final = "tags"
"""What the address of the workshop says after a change."""
TAGS_TEMPLATE: Final = "modhub_tags:templates/tags.jinja2"


def filter_labels(request: Request) -> dict[str, str]:
    """The tags that the list can be filtered by, in the reader's language."""
    return titles_in(TagReader(request.databases.raw_queries).listed(), translations_for(request).language)


def tags_panel(context: Any, request: Request) -> Markup | None:
    """The tags of a mod, each a link to the mods with it. The page has checked that the reader may see the mod."""
    if context.id is None:
        return None
    tags = TagReader(request.databases.raw_queries).of_mod(context.id)
    if not tags:
        return None
    ui = PageHelpers(request)
    return ui.cached_fragment("modhub_tags:templates/mod.jinja2", tags=tuple(tags), lang=ui.lang, titles_in=titles_in)


def choice_panel(context: Any, request: Request) -> Markup | None:
    """The form on a mod's workshop page."""
    if not IOwnMod.providedBy(context):
        return None
    values = {**_form_values(request, context.id), "saved": query(request, "done") == TAGS_SAVED}
    return Markup(render("modhub_tags:templates/workshop.jinja2", values, request=request))  # noqa: S704 - a template


def _form_values(request: Request, mod_id: int) -> dict[str, Any]:
    reader, language = TagReader(request.databases.raw_queries), translations_for(request).language
    return {
        "address": f"/Modhub/mine/{mod_id}",
        "offered": titles_in(reader.listed(), language),
        "chosen": {tag.name for tag in reader.of_mod(mod_id)},
        "most": MOST,
    }


def _page_values(context: OwnTagsResource, request: Request, **more: Any) -> dict[str, Any]:
    with request.databases.readonly_session() as session:
        mod = context.find_mod(session)
    # The owner has deleted it meanwhile: the page is as empty as the mod.
    title = "" if mod is None else mod.title
    return {"title": title, "error": None, **_form_values(request, context.mod_id or 0), **more}


@page(context=IOwnTags, request_method="GET", permission=TagPermission.EDIT, renderer=TAGS_TEMPLATE)
def tags_page(context: OwnTagsResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/{id}/tags``: the form by itself."""
    return _page_values(context, request)


@page(
    context=IOwnTags,
    request_method="POST",
    permission=TagPermission.EDIT,
    renderer=TAGS_TEMPLATE,
    preserve_fields={"tag": FILTER_TITLE},
)
def tags_submit(context: OwnTagsResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/tags``: the tags that are ticked. A form that was sent again has them in one field."""
    names = [name for value in request.POST.getall("tag") for name in value.split()]
    owner: int = request.authenticated_userid
    try:
        services.change_tags(request.dbsession, request.find_service(IMods), context.mod_id, owner, names)
    except ApiError as refused:
        set_error_status(request, refused)
        return _page_values(context, request, error=refused, chosen=set(names))
    return Redirect(f"/Modhub/mine/{context.mod_id}?done={TAGS_SAVED}#tags")
