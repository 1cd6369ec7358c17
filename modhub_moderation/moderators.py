"""Who may decide: accounts that the operator names (``modhub-admin moderator``), and how they are recognised."""

from typing import Any, Final, NamedTuple

from pyramid.authorization import DENY_ALL, Allow
from pyramid.config import Configurator
from sqlalchemy import bindparam, exists, func, select
from sqlalchemy.orm import Session
from zope.interface import implementer

from modhub.base.errors import ApiError
from modhub.base.identity import CredentialKind, Permission, principal_for_account
from modhub.content.text import N_
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor
from modhub.plugins.events import AccountDeleted
from modhub.plugins.resources import IResource, ISite
from modhub.ui.template_helpers import nav_link
from modhub.web.request import Request
from modhub.web.traversal import Acl, Resource
from modhub_auth.models import Account, Authenticator
from modhub_auth.signin.totp import has_authenticator
from modhub_moderation.models import Moderator
from modhub_moderation.settings import NEEDS_FACTOR

MODERATION: Final = "/Modhub/moderation"
_ASKED: Final = "modhub_moderation.moderator"
"""The environ key of what is known about the visitor."""


class ModerationPermission(Permission):
    """What moderators may do."""

    DECIDE = "moderation:decide", CredentialKind.ACCOUNT


class IModerationDesk(IResource):
    """``/Modhub/moderation``: the pages of moderators."""


class ModeratorStanding(NamedTuple):
    """Whether an account is a moderator, and has an authenticator."""

    is_moderator: bool = False
    has_factor: bool = False


_HAS_FACTOR: Final = exists().where(Authenticator.account_id == Moderator.account_id)
_STANDING: Final = PreparedQuery(select(_HAS_FACTOR).where(Moderator.account_id == bindparam("id")))


def _standing_of(reader: RawQueryExecutor, account_id: int) -> ModeratorStanding:
    rows = reader.rows(_STANDING, id=account_id)
    return ModeratorStanding(True, bool(rows[0][0])) if rows else ModeratorStanding()


def standing_of_visitor(request: Request) -> ModeratorStanding:
    """That of the visitor, asked at each request, so that a removal works at once; of nobody and of the blocked: none.

    A request asks once.
    """
    environ: dict[str, Any] = request.environ
    if _ASKED not in environ:
        caller = request.identify(CredentialKind.ACCOUNT)
        known = caller.account_id is not None and not caller.blocked and caller.key_scope is None
        reader = request.databases.raw_queries
        environ[_ASKED] = _standing_of(reader, caller.account_id or 0) if known else ModeratorStanding()
    standing: ModeratorStanding = environ[_ASKED]
    return standing


def factor_missing() -> ApiError:
    """403 for a moderator without an authenticator (C-CAS-1)."""
    return ApiError(403, "factor_missing", "Moderators need an authenticator. Set one up on your account's page.")


@implementer(IModerationDesk)
class ModerationDesk(Resource):
    """``/Modhub/moderation``. Its children are of moderators alone."""

    def __acl__(self) -> Acl:
        """Moderators may decide, if they have the authenticator that they need."""
        caller, standing = self.request.identify(CredentialKind.ACCOUNT).account_id, standing_of_visitor(self.request)
        if caller is None or not standing.is_moderator:
            return [DENY_ALL]
        if not standing.has_factor and self.request.registry.settings[NEEDS_FACTOR]:
            raise factor_missing()
        return [(Allow, principal_for_account(caller), ModerationPermission.DECIDE), DENY_ALL]


def open_desk(parent: Resource, name: str) -> ModerationDesk:
    """The desk, for moderators; to all others there is nothing at this address (C-CAS-1)."""
    if not standing_of_visitor(parent.request).is_moderator:
        raise KeyError(name)
    return ModerationDesk(parent, name)


def require_moderator(session: Session, registry: Any, account_id: int) -> None:
    """403 unless the account is a moderator now. Until the transaction ends it stays one: its row is locked."""
    statement = select(Moderator.account_id).where(Moderator.account_id == account_id).with_for_update(read=True)
    if session.scalar(statement) is None:
        raise ApiError(403, "no_moderator", "You are no longer a moderator.")
    if registry.settings[NEEDS_FACTOR] and not has_authenticator(session, account_id):
        raise factor_missing()


def count_other_moderators(session: Session, registry: Any, account_ids: set[int]) -> int:
    """How many moderators can decide besides these: not blocked, and with the authenticator that they need."""
    others = select(func.count()).select_from(Moderator).join(Account, Account.id == Moderator.account_id)
    others = others.where(Moderator.account_id.not_in(account_ids), Account.blocked_at.is_(None))
    if registry.settings[NEEDS_FACTOR]:
        others = others.where(exists().where(Authenticator.account_id == Moderator.account_id))
    return session.scalar(others) or 0


def forget_moderator(event: AccountDeleted) -> None:
    """A deleted account is no moderator."""
    moderator = event.session.get(Moderator, event.account_id)
    if moderator is not None:
        event.session.delete(moderator)


def desk_link(_context: Any, request: Request) -> Any:
    """The entry in the navigation of moderators."""
    if not standing_of_visitor(request).is_moderator:
        return None
    return nav_link(request, MODERATION, N_("Moderation"))


def includeme(config: Configurator) -> None:
    """Register the pages' root, the link to it, the subscriber and the command."""
    config.add_child(ISite, "moderation", open_desk)
    config.add_robots_rule(MODERATION)
    config.add_panel("navigation", "moderation", desk_link, order=150)
    config.add_subscriber(forget_moderator, AccountDeleted)
    config.include("modhub_moderation.moderator_commands")
