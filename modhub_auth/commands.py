"""``modhub-admin account``: the operator's commands for accounts."""

import argparse
from collections.abc import Callable
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.db import iso
from modhub.declarations import AdminCommand
from modhub.settings import StartRefused
from modhub.traversal import parse_id
from modhub.ui.i18n import Catalogs
from modhub_auth import account_blocking, email_addresses
from modhub_auth.account_deletion import delete_account
from modhub_auth.container import AuthServices
from modhub_auth.models import Account, Login, LoginKind
from modhub_auth.read_service import LoginMethod
from modhub_auth.services import lock_account
from modhub_auth.signin import recovery, totp


def find_account(session: Session, name: str) -> Account:
    """The account with this id or address, locked."""
    if name.isascii() and name.isdigit():
        account_id = parse_id(name)
        account = None if account_id is None else lock_account(session, account_id)
    else:
        login = recovery.login_by_address(session, email_addresses.parse_address(name) or "")
        account = None if login is None else lock_account(session, login.account_id)
    if account is None:
        raise StartRefused(f"there is no account {name}")
    return account


def describe_login(login: Login | LoginMethod | None) -> str:
    """Kind, subject and whether it is confirmed."""
    if login is None:
        return "no login"
    return f"{login.kind} {login.subject} ({'confirmed' if login.verified else 'not confirmed'})"


def list_accounts(admin: Any) -> None:
    """Print one line per login, and per account without any."""
    with admin.reading() as session:
        joined = select(Account, Login).outerjoin(Login, Login.account_id == Account.id).order_by(Account.id, Login.id)
        for account, login in session.execute(joined):
            blocked = "" if account.blocked_at is None else ", blocked"
            admin.say(f"{account.id} {account.display_name}: {describe_login(login)}{blocked}")


def show_account(admin: Any, _session: Session, account: Account) -> None:
    """Print all data of the account except secrets."""
    admin.say(f"{account.id} {account.display_name}, {account.kind}, since {iso(account.created_at)}")
    if account.blocked_at is not None:
        reason = f": {account.block_reason}" if account.block_reason else ""
        admin.say(f"  blocked since {iso(account.blocked_at)}{reason}")
    overview = admin.find_service(AuthServices).account_reader.overview(account.id)
    for login in overview.logins:
        admin.say(f"  login: {describe_login(login)}")
    admin.say(f"  authenticator: {'yes' if overview.has_authenticator else 'no'}")
    for kind, sessions in (("program", overview.clients), ("pages", overview.pages)):
        for session_info in sessions:
            admin.say(f"  signed in: {kind} {session_info.label}, last used {iso(session_info.used_at)}")


def sign_out_account(admin: Any, session: Session, account: Account) -> None:
    """End every session; access tokens expire within half an hour."""
    recovery.end_sessions(session, account.id)
    record(session, "signed out everywhere", "account", account.id)
    admin.say(f"Account {account.id} is signed out everywhere; access tokens expire within 30 minutes.")


def block_account_command(admin: Any, session: Session, account: Account, reason: str = "") -> None:
    """Block the account; a reason replaces the earlier one."""
    if account_blocking.block_account(session, account, reason):
        admin.say(f"Account {account.id} is blocked and signed out everywhere; its access tokens change nothing now.")
    else:
        admin.say(f"Account {account.id} was blocked already.")


def unblock_account_command(admin: Any, session: Session, account: Account) -> None:
    """Let its owner sign in again."""
    if account_blocking.unblock_account(session, account):
        admin.say(f"Account {account.id} is no longer blocked; its owner can sign in again.")
    else:
        admin.say(f"Account {account.id} is not blocked.")


def remove_factor(admin: Any, session: Session, account: Account) -> None:
    """Remove the authenticator and recovery codes of a user who has lost both, and notify them by email."""
    if not totp.remove_authenticator(session, account.id):
        admin.say(f"Account {account.id} has no authenticator.")
        return
    messages = admin.find_service(Catalogs).choose(None)
    outbox = admin.find_service(AuthServices).outbox
    recovery.queue_security_email(session, outbox, account.id, "factor removed", messages)
    admin.say(f"The authenticator of account {account.id} and its recovery codes are removed.")


def confirm_account(admin: Any, session: Session, account: Account) -> None:
    """Mark the account's addresses as confirmed."""
    for login in session.scalars(
        select(Login).where(Login.account_id == account.id, Login.kind == LoginKind.PASSWORD.value)
    ):
        login.verified = True
    record(session, "address confirmed", "account", account.id)
    session.flush()
    admin.say(f"The address of account {account.id} is confirmed.")


def delete_account_command(admin: Any, session: Session, account: Account) -> None:
    """Delete the account with everything that it owns."""
    account_id = account.id
    delete_account(session, admin.registry, account)
    admin.say(f"Account {account_id} is deleted, with everything that it owned.")


ACCOUNT_ACTIONS: Final[dict[str, tuple[str, Callable[..., None]]]] = {
    "show": ("show one", show_account),
    "sign-out": ("sign one out everywhere", sign_out_account),
    "delete": ("delete one with its mods, votes and files", delete_account_command),
    "confirm": ("mark its address as confirmed", confirm_account),
    "block": ("keep its owner out; their published mods stay", block_account_command),
    "unblock": ("let its owner sign in again", unblock_account_command),
    "remove-factor": ("remove its authenticator and recovery codes", remove_factor),
}


def run_account(admin: Any, arguments: argparse.Namespace) -> int:
    """``account list``, or an action on one."""
    if arguments.action == "list":
        list_accounts(admin)
        return 0
    options = {"reason": arguments.reason} if arguments.action == "block" else {}
    with admin.writing() as (session, _):
        ACCOUNT_ACTIONS[arguments.action][1](admin, session, find_account(session, arguments.account), **options)
    return 0


def account_arguments(parser: argparse.ArgumentParser) -> None:
    """``list``, or an action and the account's number or address"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the accounts")
    for name, (meaning, _) in ACCOUNT_ACTIONS.items():
        action = actions.add_parser(name, help=meaning)
        action.add_argument("account", help="its number or address")
        if name == "block":
            action.add_argument("--reason", default="", help="a note for operators, shown by account show")


def includeme(config: Configurator) -> None:
    """Register the command."""
    config.add_command(AdminCommand("account", "the accounts", account_arguments, run_account))
