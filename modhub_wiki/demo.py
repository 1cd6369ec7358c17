"""The sample pages of ``modhub-admin demo``: a small wiki for people who write mods."""

from importlib.resources import files
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import select

from modhub_wiki import services
from modhub_wiki.models import Page

PAGES: Final = ("index", "getting-started", "mods/manifest", "mods/overlay-api", "publishing")
AUTHOR: Final = "demo"


def fill(admin: Any) -> None:
    """Five pages with tables, code and links; nothing where there are pages already."""
    folder = files("modhub_wiki") / "demo"
    drafts = [services.draft(path, (folder / f"{path}.md").read_text("utf-8")) for path in PAGES]
    with admin.writing() as (session, _):
        if session.scalar(select(Page.id).limit(1)) is not None:
            return
        for draft in drafts:
            services.publish(session, draft, AUTHOR)


def includeme(config: Configurator) -> None:
    """The samples."""
    config.add_demo("the developer wiki", fill, order=60)
