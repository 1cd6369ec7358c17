"""``modhub-admin account``: the operator's commands for accounts."""

import argparse
from collections.abc import Callable
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.settings import StartRefused
from modhub.db import iso
from modhub.plugins.commands import (
    AdminCommand,
    add_batch_option,
    add_dry_run_option,
    add_json_option,
    add_yes_option,
    end_rehearsal,
    is_rehearsal,
)
from modhub.plugins.services import AccountUse
from modhub.ui.i18n import Catalogs
from modhub.web.traversal import parse_id
from modhub_auth import account_batches
from modhub_auth.account_deletion import delete_account
from modhub_auth.account_export import export_account, export_arguments
from modhub_auth.account_listing import (
    account_list_arguments,
    describe_use,
    list_accounts,
    show_account,
    use_of_accounts,
)
from modhub_auth.container import AuthServices
from modhub_auth.models import Account, Login, LoginKind
from modhub_auth.publisher_keys import revoke_key
from modhub_auth.services import lock_account
from modhub_auth.signin import recovery, totp

_EXAMPLES: Final = """\
account list --by bytes --limit 10           who uses the most space
account list example.org --json              accounts with this in their name or address, for a program
account show ada@example.org                 everything about one, without secrets
account list --since 2026-11-20 --ids        the ids of accounts made since then
account block 7 --reason "Malware"           locks its owner out; their published mods stay
account block 7 8 --hide-mods                locks both out and hides all their mods
account block -                              those on standard input, as account list --ids prints them
account unblock --batch 512                  undoes what account block did to many, which printed this number
account keys 7                               the publisher keys of account 7
account revoke-key 7 41                      revokes one of them
account export 7 --to ada.zip                what is stored about them, with their files, for them
account delete 7 --dry-run                   says what would be deleted
account delete 7 --yes                       deletes it with its mods, votes and files"""


def find_account(session: Session, name: str) -> Account:
    """The account with this id or address, locked."""
    account_id = account_batches.find_account_ids(session, [name]).get(name)
    account = None if account_id is None else lock_account(session, account_id)
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
    admin.say("Until then a stolen one still writes: account block stops that at once.")


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


def list_keys(admin: Any, _session: Session, account: Account, *, json: bool = False) -> None:
    """Print one line per publisher key; none of them has the key's text."""
    keys = admin.find_service(AuthServices).account_reader.overview(account.id).keys
    for key in keys:
        times = {"created": key.created_at, "used": key.used_at, "expires": key.expires_at}
        if json:
            moments = {f"{name}At": at and iso(at) for name, at in times.items()}
            admin.say_json({"id": key.login_id, "subject": key.subject, "modId": key.mod_id} | moments)
            continue
        scope = "all mods" if key.mod_id is None else f"mod {key.mod_id}"
        facts = ", ".join(f"{name} {iso(at) if at else 'never'}" for name, at in times.items())
        admin.say(f"{key.login_id} {key.subject}, {scope}, {facts}")
    if not keys and not json:
        admin.say(f"Account {account.id} has no publisher keys.")


def revoke_key_command(admin: Any, session: Session, account: Account, key: str, *, dry_run: bool = False) -> None:
    """Revoke a publisher key: its sessions end at once, their access tokens too."""
    if not revoke_key(session, account.id, parse_id(key)):
        raise StartRefused(f"account {account.id} has no publisher key {key}")
    admin.say(f"Publisher key {key} of account {account.id} {_be(dry_run)} revoked; its access tokens are, too.")


READING: Final = frozenset({"show", "keys"})
"""The actions that change nothing."""
ACCOUNT_ACTIONS: Final[dict[str, tuple[str, Callable[..., None]]]] = {
    "show": ("show one", show_account),
    "sign-out": ("sign one out everywhere", sign_out_account),
    "delete": ("delete one with its mods, votes and files", delete_account_command),
    "confirm": ("mark its email address as confirmed", confirm_account),
    "keys": ("list its publisher keys", list_keys),
    "revoke-key": ("revoke one of its publisher keys", revoke_key_command),
    "remove-factor": ("remove its authenticator and recovery codes", remove_factor),
}


BATCH_ACTIONS: Final[dict[str, tuple[str, Callable[..., int]]]] = {
    "block": ("keep owners out at once; their published mods stay", account_batches.block_named),
    "unblock": ("let owners sign in again", account_batches.unblock_named),
}


def run_account(admin: Any, arguments: argparse.Namespace) -> int:
    """``account list``, or an action on one."""
    if arguments.action == "list":
        return list_accounts(admin, arguments)
    if arguments.action == "export":
        return export_account(admin, arguments)
    if arguments.action in BATCH_ACTIONS:
        if not arguments.account and getattr(arguments, "batch", None) is None:
            arguments.complain("name an account")
        return BATCH_ACTIONS[arguments.action][1](admin, arguments)
    is_change = arguments.action not in READING
    options = {name: value for name, value in vars(arguments).items() if name in {"key", "json"}}
    rehearses = is_change and is_rehearsal(arguments)
    if is_change:
        options["dry_run"] = rehearses
    with admin.writing(dry_run=not is_change or rehearses) as (session, _):
        ACCOUNT_ACTIONS[arguments.action][1](admin, session, find_account(session, arguments.account), **options)
    return end_rehearsal(admin, arguments) if rehearses else 0


def account_arguments(parser: argparse.ArgumentParser) -> None:
    """``list``, or an action and the account's number or address"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    account_list_arguments(actions.add_parser("list", help="list the accounts"))
    export_arguments(actions.add_parser("export", help="write what is stored about one, as a zip archive"))
    for name, (meaning, _) in ACCOUNT_ACTIONS.items():
        action = actions.add_parser(name, help=meaning)
        action.add_argument("account", help="its number or email address")
        if name == "revoke-key":
            action.add_argument("key", help="its number, which account keys lists")
        if name in READING:
            add_json_option(action)
        elif name == "delete":
            add_yes_option(action)
        else:
            add_dry_run_option(action)
    parsers = {name: actions.add_parser(name, help=meaning) for name, (meaning, _) in BATCH_ACTIONS.items()}
    for action in parsers.values():
        action.set_defaults(complain=action.error)
        help_text = "its number or email address; -: read them from standard input"
        action.add_argument("account", nargs="*", metavar="ACCOUNT", help=help_text)
        add_dry_run_option(action)
    parsers["block"].add_argument("--reason", default="", help="a note for operators, shown by account show")
    parsers["block"].add_argument("--hide-mods", action="store_true", help="also hide all their mods")
    add_batch_option(parsers["unblock"])


def includeme(config: Configurator) -> None:
    """Register the command."""
    config.add_command(AdminCommand("account", "the accounts", account_arguments, run_account, examples=_EXAMPLES))
