"""Demo data for ``modhub-admin demo``: a small wiki for mod authors."""

from importlib.resources import files
from typing import Any, Final

from sqlalchemy import select

from modhub_wiki import services
from modhub_wiki.models import Page

DEMO_PAGES: Final = ("index", "getting-started", "mods/manifest", "mods/overlay-api", "publishing")
DEMO_AUTHOR: Final = "demo"


def fill_demo_wiki(admin: Any) -> None:
    """Add five pages with tables, code and links, unless there are pages already."""
    folder = files("modhub_wiki") / "demo"
    drafts = [services.draft_page(path, (folder / f"{path}.md").read_text("utf-8")) for path in DEMO_PAGES]
    with admin.writing() as (session, _):
        if session.scalar(select(Page.id).limit(1)) is not None:
            return
        for draft in drafts:
            services.publish_page(session, draft, DEMO_AUTHOR)
