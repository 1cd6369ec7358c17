"""What an owner sees of scanning in the workshop."""

from typing import Any

from markupsafe import Markup
from pyramid.renderers import render

from modhub.plugins.resources import IOwnMod
from modhub_moderation.scanning import services


def waiting_panel(context: Any, request: Any) -> Markup | None:
    """Which files of the mod wait for the scanner; nothing if all were scanned."""
    if not IOwnMod.providedBy(context) or context.id is None:
        return None
    waiting = services.list_waiting_files(request.dbsession, context.id)
    if not waiting:
        return None
    values = {"found": any(file.rule is not None for file in waiting)}
    return Markup(render("modhub_moderation:templates/scanning/waiting.jinja2", values, request=request))  # noqa: S704
