"""``modhub-admin account``: the operator's commands for accounts."""

import argparse
from collections.abc import Callable
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.settings import StartRefused
from modhub.declarations import AdminCommand, add_dry_run_option, add_json_option
from modhub.interfaces import AccountUse
from modhub.ui.i18n import Catalogs
from modhub.web.traversal import parse_id
from modhub_auth import account_blocking, email_addresses
from modhub_auth.account_deletion import delete_account
from modhub_auth.account_listing import (
    account_list_arguments,
    describe_use,
    list_accounts,
    show_account,
    use_of_accounts,
)
from modhub_auth.container import AuthServices
from modhub_auth.models import Account, Login, LoginKind
from modhub_auth.services import lock_account
from modhub_auth.signin import recovery, totp

_EXAMPLES: Final = """\
account list --by bytes --limit 10           who uses the most space
account list example.org --json              accounts with this in their name or address, for a program
account show ada@example.org                 everything about one, without secrets
account block 7 --reason "Malware"           locks its owner out; their published mods stay
account delete 7 --dry-run                   says what would be deleted
account delete 7                             deletes it with its mods, votes and files"""


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


def _be(dry_run: bool) -> str:
    return "would be" if dry_run else "is"


def sign_out_account(admin: Any, session: Session, account: Account, *, dry_run: bool = False) -> None:
    """End every session; access tokens expire within half an hour."""
    recovery.end_sessions(session, account.id)
    record(session, "signed out everywhere", "account", account.id)
    admin.say(f"Account {account.id} {_be(dry_run)} signed out everywhere; access tokens expire within 30 minutes.")


def block_account_command(
    admin: Any, session: Session, account: Account, reason: str = "", *, dry_run: bool = False
) -> None:
    """Block the account; a reason replaces the earlier one."""
    if account_blocking.block_account(session, account, reason):
        effect = "" if dry_run else "; its access tokens change nothing now"
        admin.say(f"Account {account.id} {_be(dry_run)} blocked and signed out everywhere{effect}.")
    else:
        remark = "; the reason would be replaced" if dry_run else "; the reason was replaced"
        admin.say(f"Account {account.id} was blocked already{remark if reason else ''}.")


def unblock_account_command(admin: Any, session: Session, account: Account, *, dry_run: bool = False) -> None:
    """Let its owner sign in again."""
    if account_blocking.unblock_account(session, account):
        verbs = ("would no longer be", "could") if dry_run else ("is no longer", "can")
        admin.say(f"Account {account.id} {verbs[0]} blocked; its owner {verbs[1]} sign in again.")
    else:
        admin.say(f"Account {account.id} is not blocked.")


def remove_factor(admin: Any, session: Session, account: Account, *, dry_run: bool = False) -> None:
    """Remove the authenticator and recovery codes of a user who has lost both, and notify them by email."""
    if not totp.remove_authenticator(session, account.id):
        admin.say(f"Account {account.id} has no authenticator.")
        return
    messages = admin.find_service(Catalogs).choose(None)
    outbox = admin.find_service(AuthServices).outbox
    recovery.queue_security_email(session, outbox, account.id, "factor removed", messages)
    verb = "would be" if dry_run else "are"
    admin.say(f"The authenticator of account {account.id} and its recovery codes {verb} removed.")


def confirm_account(admin: Any, session: Session, account: Account, *, dry_run: bool = False) -> None:
    """Mark the account's addresses as confirmed."""
    has_address = (Login.account_id == account.id, Login.kind == LoginKind.PASSWORD.value)
    logins = session.scalars(select(Login).where(*has_address)).all()
    if all(login.verified for login in logins):
        state = "was confirmed already" if logins else "is missing: nobody signs in with an email address"
        admin.say(f"The address of account {account.id} {state}.")
        return
    for login in logins:
        login.verified = True
    record(session, "address confirmed", "account", account.id)
    session.flush()
    admin.say(f"The address of account {account.id} {_be(dry_run)} confirmed.")


def delete_account_command(admin: Any, session: Session, account: Account, *, dry_run: bool = False) -> None:
    """Delete the account with everything that it owns."""
    account_id = account.id
    if dry_run:
        use = use_of_accounts(admin, session).get(account_id, AccountUse())
        admin.say(f"Account {account_id} ({account.display_name}) would be deleted, with {describe_use(use)}.")
        return
    delete_account(session, admin.registry, account)
    admin.say(f"Account {account_id} is deleted, with everything that it owned.")


ACCOUNT_ACTIONS: Final[dict[str, tuple[str, Callable[..., None]]]] = {
    "show": ("show one", show_account),
    "sign-out": ("sign one out everywhere", sign_out_account),
    "delete": ("delete one with its mods, votes and files", delete_account_command),
    "confirm": ("mark its email address as confirmed", confirm_account),
    "block": ("keep its owner out; their published mods stay", block_account_command),
    "unblock": ("let its owner sign in again", unblock_account_command),
    "remove-factor": ("remove its authenticator and recovery codes", remove_factor),
}


def run_account(admin: Any, arguments: argparse.Namespace) -> int:
    """``account list``, or an action on one."""
    if arguments.action == "list":
        return list_accounts(admin, arguments)
    is_change = arguments.action != "show"
    options = {name: value for name, value in vars(arguments).items() if name in {"reason", "json", "dry_run"}}
    with admin.writing(dry_run=not is_change or arguments.dry_run) as (session, _):
        ACCOUNT_ACTIONS[arguments.action][1](admin, session, find_account(session, arguments.account), **options)
    if is_change and arguments.dry_run:
        admin.say("Nothing was changed.")
    return 0


def account_arguments(parser: argparse.ArgumentParser) -> None:
    """``list``, or an action and the account's number or address"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    account_list_arguments(actions.add_parser("list", help="list the accounts"))
    for name, (meaning, _) in ACCOUNT_ACTIONS.items():
        action = actions.add_parser(name, help=meaning)
        action.add_argument("account", help="its number or email address")
        if name == "show":
            add_json_option(action)
        else:
            add_dry_run_option(action)
        if name == "block":
            action.add_argument("--reason", default="", help="a note for operators, shown by account show")


def includeme(config: Configurator) -> None:
    """Register the command."""
    config.add_command(AdminCommand("account", "the accounts", account_arguments, run_account, examples=_EXAMPLES))
