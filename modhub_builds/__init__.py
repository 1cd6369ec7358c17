"""App builds: published by a build agent for each operating system, kept for ever, with a changelog and a page."""

from pyramid.config import Configurator

from modhub import limits as core_limits
from modhub.interfaces import ICatalogue, ISite
from modhub.pages.documentation import section
from modhub_builds import limits
from modhub_builds.finding import Finder
from modhub_builds.interfaces import IBuilds
from modhub_builds.resources import AppPage, Builds, Sections


def includeme(config: Configurator) -> None:
    """Where builds are in the tree, who publishes them, and what the core is told about them."""
    config.include("modhub")
    config.add_feature("modhub_builds", "App builds")
    config.add_migrations("modhub_builds", "modhub_builds:migrations", "builds_")
    config.registry.builds = Finder(config.registry.databases.reads)
    config.add_scope("Modhub:app", "publish app builds and the app changelog")
    config.add_child(ICatalogue, "app", Builds)
    config.add_child(ISite, "app", Builds)
    config.add_child(ISite, "App", AppPage)
    config.add_child(IBuilds, "changelog", Sections)
    config.add_cross_origin("/Modhub/app/[^/]+(?:/[^/]+)?")
    key = "X-Api-Key"
    config.add_body_limit("POST", "/api/modhub/app/{os}", limits.BUILD, credential=key)
    config.add_body_limit(("POST", "DELETE"), "/api/modhub/app/changelog", limits.SECTION, credential=key)
    config.include("modhub_builds.commands")
    config.include("modhub_builds.pages")
    described = section("modhub_builds:templates/documentation.jinja2", limits=limits, core_limits=core_limits)
    config.add_panel("documentation", "builds", described, order=40)
    config.scan("modhub_builds.views")
    config.scan("modhub_builds.publishing")
