"""The developer wiki. Pages are Markdown, published with a machine key and public to read."""

from pyramid.config import Configurator

from modhub.content.text import N_
from modhub.plugins.resources import ICatalogue, ISite
from modhub_wiki import limits
from modhub_wiki.resources import (
    PATTERN,
    SCOPE,
    DocumentsResource,
    ISiteApi,
    SiteApiResource,
    WikiResource,
    raw_path_root_factory,
)


def includeme(config: Configurator) -> None:
    """Mount the wiki at its three addresses; register its scope, body limits, pages and feed."""
    config.include("modhub")
    config.add_feature(
        "modhub_wiki", N_("Developer wiki"), migrations="wiki_", demo="modhub_wiki.services.fill_demo_wiki"
    )
    config.add_scope(SCOPE, "publish and delete pages of the developer wiki")
    config.add_child(ISite, "api", SiteApiResource)
    config.add_child(ISiteApi, "wiki", WikiResource)
    config.add_child(ICatalogue, "wiki", WikiResource)
    config.add_child(ICatalogue, "doc", DocumentsResource)
    config.add_child(ISite, "Wiki", WikiResource)
    config.add_route("modhub_wiki page", PATTERN, factory=raw_path_root_factory, use_global_views=True)
    for mount in ("/Modhub/api/wiki", "/api/modhub/wiki"):
        config.add_body_limit(("PUT", "POST", "DELETE"), mount + "/{path...}", limits.TEXT, credential="X-Api-Key")
    config.include("modhub_wiki.pages")
    config.scan("modhub_wiki.views")
