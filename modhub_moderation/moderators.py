"""Who may decide: accounts that the operator names (modhub-admin moderator), and how they are recognised."""

import argparse
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, NamedTuple

from pyramid.authorization import DENY_ALL, Allow
from pyramid.config import Configurator
from sqlalchemy import bindparam, exists, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column
from zope.interface import implementer

from modhub.audit import record
from modhub.base.errors import ApiError
from modhub.base.identity import CredentialKind, Permission, principal_for_account
from modhub.base.settings import StartRefused
from modhub.db import Base, Id, Timestamp, iso, now
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor
from modhub.plugins.commands import AdminCommand, add_dry_run_option, add_json_option
from modhub.plugins.events import AccountDeleted
from modhub.plugins.resources import IResource, ISite
from modhub.plugins.services import IProfiles
from modhub.web.request import Request
from modhub.web.traversal import Acl, Resource
from modhub.web.views import F, page
from modhub_auth.blocking import find_account_ids
from modhub_auth.models import Account, Authenticator
from modhub_auth.services import lock_account
from modhub_auth.signin.totp import has_authenticator
from modhub_moderation.settings import NEEDS_FACTOR


class Moderator(Base):
    """An account that may decide cases."""

    __tablename__ = "moderation_moderator"

    account_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    since: Mapped[datetime] = mapped_column(Timestamp)


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


def desk_page(**options: Any) -> Callable[[F], F]:
    """Declare a page of moderators. Options as for :func:`modhub.web.views.page`."""
    return page(permission=ModerationPermission.DECIDE, **options)


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


_EXAMPLES: Final = """\
moderator add mo@example.org      this account may decide; it needs an authenticator
moderator remove 12               it may no longer, at once
moderator list --json             one JSON object per moderator"""


def run_moderator(admin: Any, arguments: argparse.Namespace) -> int:
    """``moderator add|remove|list``"""
    if arguments.action == "list":
        return _list(admin, as_json=arguments.json)
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        account_id = find_account_ids(session, [arguments.account]).get(arguments.account)
        if account_id is None:
            raise StartRefused(f"there is no account {arguments.account}")
        act = {"add": _add, "remove": _remove}[arguments.action]
        said = act(admin, session, account_id)
    admin.say("Nothing was changed." if arguments.dry_run else said)
    return 0


def _add(admin: Any, session: Session, account_id: int) -> str:
    if lock_account(session, account_id) is None:
        raise StartRefused(f"there is no account {account_id}")
    if admin.registry.settings[NEEDS_FACTOR] and not has_authenticator(session, account_id):
        raise StartRefused(f"account {account_id} has no authenticator: set one up on its page first")
    if session.get(Moderator, account_id) is not None:
        return f"Account {account_id} is a moderator already."
    session.add(Moderator(account_id=account_id, since=now()))
    record(session, "moderator added", "account", account_id)
    return f"Account {account_id} is a moderator now: {admin.registry.settings['modhub.base_url']}{MODERATION}"


def _remove(_admin: Any, session: Session, account_id: int) -> str:
    moderator = session.get(Moderator, account_id, with_for_update=True)
    if moderator is None:
        raise StartRefused(f"account {account_id} is no moderator")
    session.delete(moderator)
    record(session, "moderator removed", "account", account_id)
    return f"Account {account_id} is no longer a moderator."


def _list(admin: Any, *, as_json: bool) -> int:
    with admin.reading() as session:
        rows = session.scalars(select(Moderator).order_by(Moderator.since)).all()
    profiles: dict[int, Any] = admin.find_service(IProfiles).get_profiles({row.account_id for row in rows})
    for row in rows:
        profile = profiles.get(row.account_id)
        line = {"accountId": row.account_id, "name": profile.name if profile else "", "since": iso(row.since)}
        admin.say_json(line) if as_json else admin.say("{accountId} {name}, since {since}".format_map(line))
    if not rows and not as_json:
        admin.say("No moderators.")
    return 0


def moderator_arguments(parser: argparse.ArgumentParser) -> None:
    """``add ACCOUNT``, ``remove ACCOUNT``, ``list``"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = actions.add_parser("add", help="name a moderator", description="Let an account decide cases.")
    remove = actions.add_parser("remove", help="remove a moderator", description="It may decide nothing, at once.")
    for action in (add, remove):
        action.add_argument("account", metavar="ACCOUNT", help="its number or email address")
        add_dry_run_option(action)
    add_json_option(actions.add_parser("list", help="list the moderators", description="List the moderators."))


def includeme(config: Configurator) -> None:
    """Register the pages' root, the subscriber and the command."""
    config.add_child(ISite, "moderation", open_desk)
    config.add_robots_rule(MODERATION)
    config.add_subscriber(forget_moderator, AccountDeleted)
    about = "who may decide about notices"
    config.add_command(AdminCommand("moderator", about, moderator_arguments, run_moderator, examples=_EXAMPLES))
