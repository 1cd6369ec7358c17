"""The addresses of cases, of decisions as the person concerned sees them, and of the link to appeal."""

from typing import Any, Final

from pyramid.authorization import DENY_ALL, Allow, Authenticated
from sqlalchemy import select
from sqlalchemy.orm import Session
from zope.interface import implementer

from modhub.base.identity import CredentialKind, Permission
from modhub.plugins.resources import IResource, ISite
from modhub.plugins.services import IMods, ModSummary
from modhub.web.traversal import OwnedResource, Resource
from modhub_moderation.cases.models import Appeal, Case, Decision
from modhub_moderation.moderators import IModerationDesk

CASE_IMAGES: Final = "images"
"""The name of the images of a mod in its case."""


class DecisionPermission(Permission):
    """What the person concerned may do."""

    READ = "decision:read", CredentialKind.ACCOUNT
    APPEAL = "decision:appeal", CredentialKind.ACCOUNT


class ICases(IResource):
    """``/Modhub/moderation/cases``"""


class ICase(IResource):
    """``/Modhub/moderation/cases/{caseId}``"""


class ICaseMod(IResource):
    """``/Modhub/moderation/cases/{caseId}/mod``: the mod of a case."""


class ICaseFile(IResource):
    """``…/mod/images/{assetId}`` and ``…/mod/files/{sha256}``"""


class IAppeal(IResource):
    """``/Modhub/moderation/appeals/{appealId}``"""


class IOwnDecisions(IResource):
    """``/Modhub/decisions``: the decisions about one's own mods and account."""


class IOwnDecision(IResource):
    """``/Modhub/decisions/{decisionId}``"""


class IAppealLink(IResource):
    """``/Modhub/appeal``: the address in statements of reasons."""


@implementer(ICase)
class CaseResource(Resource):
    """One case."""

    def check_exists(self, session: Session) -> bool:
        """Whether there is such a case."""
        return self.id is not None and session.get(Case, self.id) is not None


@implementer(ICases)
class CasesResource(Resource):
    """All cases; the desk above it has checked the visitor."""

    member = CaseResource


@implementer(ICaseMod)
class CaseModResource(Resource):
    """The mod that a case is about, for moderators: only mods with a case, so that the audit trail has who asked."""

    __parent__: CaseResource

    def find_mod(self, session: Session) -> ModSummary | None:
        """The mod; None if the case is about an account, or the mod was deleted."""
        case = session.get(Case, self.__parent__.id or 0)
        if case is None or not case.is_of_mod:
            return None
        return self.request.find_service(IMods).get_mods(session, [case.subject_id]).get(case.subject_id)

    def check_exists(self, session: Session) -> bool:
        """Whether there is such a mod."""
        return self.find_mod(session) is not None


@implementer(ICaseFile)
class CaseFileResource(Resource):
    """One of them."""

    __parent__: "CaseFilesResource"


class CaseFilesResource(Resource):
    """The images, or all files, of the mod."""

    __parent__: CaseModResource

    member = CaseFileResource


@implementer(IAppeal)
class AppealResource(Resource):
    """One appeal."""

    def check_exists(self, session: Session) -> bool:
        """Whether there is such an appeal."""
        return self.id is not None and session.get(Appeal, self.id) is not None


class AppealsResource(Resource):
    """``/Modhub/moderation/appeals``"""

    member = AppealResource


@implementer(IOwnDecision)
class OwnDecisionResource(OwnedResource):
    """One decision, for the person concerned alone."""

    owner_permissions = (DecisionPermission.READ, DecisionPermission.APPEAL)

    def find_owner(self, session: Session) -> int | None:
        """The account that it concerns."""
        owner = select(Case.owner_id).join(Decision, Decision.case_id == Case.id)
        return session.scalar(owner.where(Decision.id == (self.id or 0)))


@implementer(IOwnDecisions)
class OwnDecisionsResource(Resource):
    """Everybody who is signed in has such a page."""

    __acl__ = [(Allow, Authenticated, DecisionPermission.READ), DENY_ALL]

    member = OwnDecisionResource


@implementer(IAppealLink)
class AppealLinkResource(Resource):
    """Who has the link of a statement reads this statement and can appeal, without a session."""


CHILDREN: Final[list[tuple[Any, str, Any]]] = [
    (IModerationDesk, "cases", CasesResource),
    (IModerationDesk, "appeals", AppealsResource),
    (ICase, "mod", CaseModResource),
    (ICaseMod, CASE_IMAGES, CaseFilesResource),
    (ICaseMod, "files", CaseFilesResource),
    (ISite, "decisions", OwnDecisionsResource),
    (ISite, "appeal", AppealLinkResource),
]
"""What stands below what."""
