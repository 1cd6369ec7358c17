"""Notices: everybody can report what everybody can see, and is told what became of it (C-NTC)."""

from pyramid.config import Configurator

from modhub.plugins.events import AccountDeleted
from modhub.plugins.moderation import IReportForms
from modhub.plugins.resources import IApiAuthor, IAuthor, IMod, ISite
from modhub_moderation.notices import erasure, panels
from modhub_moderation.notices.resources import AuthorReports, ModReports, Receipts
from modhub_moderation.notices.schemas import MAX_NOTICE_BODY


def includeme(config: Configurator) -> None:
    """Register the addresses, the service, the panel, the worker, the subscribers and the views."""
    config.add_child(IMod, "reports", ModReports)
    config.add_child(IAuthor, "reports", AuthorReports)
    config.add_child(IApiAuthor, "reports", AuthorReports)
    config.add_child(ISite, "notices", Receipts)
    config.add_body_limit("POST", "/api/modhub/{id}/reports", MAX_NOTICE_BODY)
    config.add_body_limit("POST", "/api/modhub/authors/{id}/reports", MAX_NOTICE_BODY)
    config.add_robots_rule("/Modhub/*/reports")
    config.add_robots_rule("/Modhub/notices/")
    config.add_service(IReportForms, panels.ReportForms())
    config.add_panel("author", "notices", panels.report_author_panel, order=900)
    config.add_subscriber(erasure.forget_reporter, AccountDeleted)
    config.add_worker("old notices", erasure.erase_old_notices, every=3600, alone=True)
    config.scan("modhub_moderation.notices.views")
    config.scan("modhub_moderation.notices.pages")
