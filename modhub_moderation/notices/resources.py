"""The resources of notices: everybody reports what everybody can see, and asks by a receipt what became of it."""

from abc import ABC, abstractmethod
from typing import Any

from pyramid.authorization import DENY_ALL, Allow, Authenticated
from sqlalchemy.orm import Session
from zope.interface import implementer

from modhub.base.errors import not_found
from modhub.base.identity import CredentialKind, Permission
from modhub.web.traversal import Resource
from modhub_moderation.notices.interfaces import IAuthorReports, IModReports, IReceipt
from modhub_moderation.notices.subjects import Subject, find_reported_author, find_reported_mod


class NoticePermission(Permission):
    """To report as an account. Without one it needs a name and an address, and no permission."""

    REPORT = "notices:report", CredentialKind.ACCOUNT


class ReportsResource(Resource, ABC):
    """Where something is reported."""

    __acl__ = [(Allow, Authenticated, NoticePermission.REPORT), DENY_ALL]
    __parent__: Any

    @abstractmethod
    def find_subject(self, session: Session) -> Subject | None:
        """What is reported here; None if not everybody can see it."""

    def check_exists(self, session: Session) -> bool:
        """Whether it can be reported."""
        return self.find_subject(session) is not None

    def require_subject(self) -> Subject:
        """What is reported here; 404 if not everybody can see it."""
        with self.request.databases.readonly_session() as session:
            subject = self.find_subject(session)
        if subject is None:
            raise not_found()
        return subject


@implementer(IModReports)
class ModReports(ReportsResource):
    """``/api/modhub/{id}/reports`` and ``/Modhub/{id}/reports``"""

    def find_subject(self, session: Session) -> Subject | None:
        """The published mod."""
        return find_reported_mod(self.request, session, self.__parent__.id)


@implementer(IAuthorReports)
class AuthorReports(ReportsResource):
    """``/api/modhub/authors/{accountId}/reports`` and ``/Modhub/by/{accountId}/reports``"""

    def find_subject(self, session: Session) -> Subject | None:
        """The author with a page."""
        return find_reported_author(self.request, session, self.__parent__.id)


class Receipts(Resource):
    """``/Modhub/notices``"""

    def get_member(self, name: str) -> "ReceiptResource":
        """Return the receipt, whether or not there is such a notice."""
        return ReceiptResource(self, name)


@implementer(IReceipt)
class ReceiptResource(Resource):
    """``/Modhub/notices/{receipt}``"""
