"""What pages of the core show: links beside the facts of a mod, its form in the workshop, an author's head."""

from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render

from modhub.content.text import N_
from modhub.plugins.resources import IOwnMod
from modhub.ui.template_helpers import PageHelpers
from modhub.web.request import Request
from modhub_profiles import limits
from modhub_profiles.licenses import COMMON, words_of
from modhub_profiles.read_service import ProfileReader, ShownLinks
from modhub_profiles.web_links import host_of

PARTS: Final = "modhub_profiles:templates/"
LINK_LABELS: Final = {
    "source": N_("Source code"),
    "report": N_("Report a problem"),
    "community": N_("Community"),
}
"""The links of a mod, by JSON field name; translated where they are shown."""


def links_panel(context: Any, request: Request) -> Markup | None:
    """The links and the licence on the page of a mod, which only exists while everybody sees it, and in its preview."""
    links = ProfileReader(request.databases.raw_queries).links_of(context.id or 0)
    if not any(links):
        return None
    values = {"links": links, "labels": tuple(LINK_LABELS.items()), "host_of": host_of, "words_of": words_of}
    return PageHelpers(request).cached_fragment(f"{PARTS}mod.jinja2", **values)


def links_form_panel(context: Any, request: Request) -> Markup | None:
    """The form of links and licence, for the owner of a mod."""
    if not IOwnMod.providedBy(context) or context.id is None:
        return None
    links = ProfileReader(request.databases.raw_queries).links_of(context.id)
    values = form_values(context.id, links)
    return Markup(render(f"{PARTS}workshop.jinja2", values, request=request))  # noqa: S704 - a template


def form_values(mod_id: int, links: ShownLinks, typed: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """The values of the form; ``typed`` is what a refused form had."""
    words = words_of(links.license)
    stored = links._asdict() | {"license": "" if words else links.license, "otherLicense": words}
    fields = {
        "typed": stored if typed is None else typed,
        "labels": LINK_LABELS,
        "limits": limits,
        "common": COMMON,
    }
    return {"mod_id": mod_id, "errors": {}, **fields, **more}


def author_panel(context: Any, request: Request) -> Markup | None:
    """The sentence and the links of an author, and the way to change them on one's own page."""
    profile, ui = ProfileReader(request.databases.raw_queries).profile_of(context.id or 0), PageHelpers(request)
    is_own = ui.account is not None and ui.account == context.id
    if not (profile.sentence or profile.links or is_own):
        return None
    values = {"sentence": profile.sentence, "links": profile.links, "is_own": is_own}
    return ui.cached_fragment(f"{PARTS}author.jinja2", **values)


def account_panel(_context: Any, request: Request) -> Markup:
    """The way to the profile on the account's page."""
    return Markup(render(f"{PARTS}account.jinja2", {}, request=request))  # noqa: S704 - a template
