"""``modhub-admin moderator``: who may decide."""

import argparse
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.settings import StartRefused
from modhub.db import iso, now
from modhub.plugins.commands import AdminCommand, add_dry_run_option, add_json_option
from modhub.plugins.services import IProfiles
from modhub_auth.account_batches import find_account_ids
from modhub_auth.services import lock_account
from modhub_auth.signin.totp import has_authenticator
from modhub_moderation.models import Moderator
from modhub_moderation.moderators import MODERATION
from modhub_moderation.settings import NEEDS_FACTOR

_EXAMPLES: Final = """\
moderator add mo@example.org      this account may decide; it needs an authenticator
moderator remove 12               it may no longer, at once
moderator list --json             one JSON object per moderator"""


def run_moderator(admin: Any, arguments: argparse.Namespace) -> int:
    """``moderator add|remove|list``"""
    if arguments.action == "list":
        return list_holders(admin, Moderator, "No moderators.", as_json=arguments.json)
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


def list_holders(admin: Any, role: Any, nobody: str, *, as_json: bool) -> int:
    """List the accounts with a row of ``role``, which says since when they have it."""
    with admin.reading() as session:
        rows = session.scalars(select(role).order_by(role.since)).all()
    profiles: dict[int, Any] = admin.find_service(IProfiles).get_profiles({row.account_id for row in rows})
    for row in rows:
        profile = profiles.get(row.account_id)
        line = {"accountId": row.account_id, "name": profile.name if profile else "", "since": iso(row.since)}
        admin.say_json(line) if as_json else admin.say("{accountId} {name}, since {since}".format_map(line))
    if not rows and not as_json:
        admin.say(nobody)
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
    """Register the command."""
    about = "who may decide about notices"
    config.add_command(AdminCommand("moderator", about, moderator_arguments, run_moderator, examples=_EXAMPLES))
