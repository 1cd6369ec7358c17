"""App builds: a build agent publishes them for each operating system. All are kept; there is a changelog and a page."""

from pyramid.config import Configurator

from modhub.base.settings import Setting
from modhub.content.operator_texts import operator_text
from modhub.content.text import N_
from modhub.plugins.resources import ICatalogue, ISite
from modhub_builds import limits
from modhub_builds.read_service import describe_build_files
from modhub_builds.resources import APP_SCOPE, AppPageResource, BuildsResource, IBuilds, SectionsResource
from modhub_builds.services import BUILDS_CHANGED, CHANGELOG_CHANGED

BUILDS_SETTINGS = [
    Setting(
        "modhub_builds.introduction", operator_text, "", "Markdown file above the builds; empty: two sentences of ours"
    )
]


def includeme(config: Configurator) -> None:
    """Register the resources, the scope that may publish, body limits, commands and pages."""
    config.include("modhub")
    config.add_feature(
        "modhub_builds",
        N_("App builds"),
        settings=BUILDS_SETTINGS,
        migrations="builds_",
        change_kinds=(BUILDS_CHANGED, CHANGELOG_CHANGED),
        demo="modhub_builds.commands.fill_demo_builds",
    )
    config.add_scope(APP_SCOPE, "publish app builds and the app changelog", default=True)
    config.add_child(ICatalogue, "app", BuildsResource)
    config.add_child(ISite, "app", BuildsResource)
    config.add_child(ISite, "App", AppPageResource)
    config.add_child(IBuilds, "changelog", SectionsResource)
    config.add_cross_origin("/Modhub/app/[^/]+(?:/[^/]+)?")
    key = "X-Api-Key"
    config.add_body_limit("POST", "/api/modhub/app/{os}", limits.BUILD, credential=key, waits=True)
    config.add_body_limit(("POST", "DELETE"), "/api/modhub/app/changelog", limits.SECTION, credential=key)
    config.add_blob_names("modhub_builds", describe_build_files)
    config.include("modhub_builds.commands")
    config.include("modhub_builds.pages")
    config.scan("modhub_builds.views")
