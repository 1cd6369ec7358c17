"""Notices: everybody can report what everybody can see, and is told what became of it (C-NTC)."""

from pyramid.config import Configurator

from modhub.plugins.events import AccountDeleted
from modhub.plugins.moderation import IReportForms
from modhub.plugins.resources import IApiAuthor, IAuthor, IMod, ISite
from modhub_moderation.notices import services, views
from modhub_moderation.notices.views import MAX_NOTICE_BODY, AuthorReports, ModReports, Receipts


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
    config.add_service(IReportForms, views.ReportForms())
    config.add_panel("author", "notices", views.report_author_panel, order=900)
    config.add_subscriber(services.forget_reporter, AccountDeleted)
    config.add_worker("old notices", services.erase_old_notices, every=3600, alone=True)
    config.scan("modhub_moderation.notices.views")
