"""What the workshop shows: what an account has used of what it may."""

from typing import Any

from markupsafe import Markup
from pyramid.renderers import render

from modhub.plugins.resources import IOwnMod
from modhub.plugins.services import IMods
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub_moderation.quotas import services
from modhub_moderation.quotas.limits import QuotaKeeper


def quota_panel(context: Any, request: Request) -> Markup | None:
    """Above an account's mods and the form of a new one; nothing for an account without limits."""
    keeper = QuotaKeeper(request.registry)
    if IOwnMod.providedBy(context) or not keeper.has_limits:
        return None
    account_id: int = request.authenticated_userid
    quota = keeper.quota_of(account_id)
    if quota == (None, None, None, None, None):
        return None
    # The page of a refused form shows what is stored, not what was refused.
    with request.databases.readonly_session() as session:
        use = request.find_service(IMods).get_use(session, account_id)
        uploads = services.count_uploads(session, account_id) if quota.uploads is not None else 0
    day = "" if quota.new_until is None else translations_for(request).date(quota.new_until.date())
    values = {"quota": quota, "use": use, "uploads": uploads, "day": day}
    return Markup(render("modhub_moderation:templates/quotas/panel.jinja2", values, request=request))  # noqa: S704 - a template
