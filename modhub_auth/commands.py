"""``modhub-admin account``: the operator's commands for accounts."""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
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
    add_ids_option,
    add_json_option,
    add_yes_option,
    end_rehearsal,
    is_rehearsal,
    parse_count,
    parse_moment,
)
from modhub.plugins.services import AccountUse, IMods
from modhub.ui.i18n import Catalogs
from modhub.web.traversal import parse_id
from modhub_auth import blocking
from modhub_auth.container import AuthServices
from modhub_auth.models import BY_PASSWORD, Account, Login, LoginKind
from modhub_auth.personal_data import export_account, export_arguments
from modhub_auth.publisher_keys import revoke_key
from modhub_auth.read_service import read_overview
from modhub_auth.services import delete_account, lock_account
from modhub_auth.signin import recovery, totp

ORDERS: Final = ("id", "created", "mods", "bytes")
"""What the list can be sorted by; all but the id begin with the newest or the largest."""


@dataclass(frozen=True, slots=True)
class AccountLine:
    """An account in the list."""

    account: Account
    logins: Sequence[Login]
    use: AccountUse


def use_of_accounts(admin: Any, session: Session) -> dict[int, AccountUse]:
    """What the mods of each account take up."""
    use: dict[int, AccountUse] = admin.find_service(IMods).get_use_of_accounts(session)
    return use


def describe_use(use: AccountUse) -> str:
    """``2 mods, 3 files, 12345 bytes``"""
    counts = ((use.mods, "mod"), (use.files, "file"), (use.bytes, "byte"))
    return ", ".join(f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in counts)


def describe_login(login: Login) -> str:
    """Kind, subject and whether it is confirmed."""
    return f"{login.kind} {login.subject} ({'confirmed' if login.verified else 'not confirmed'})"


def find_lines(admin: Any, session: Session, arguments: argparse.Namespace) -> Iterator[AccountLine]:
    """The accounts that the filters choose, in the chosen order."""
    logins = defaultdict(list)
    for login in session.scalars(select(Login).where(Login.kind != LoginKind.KEY).order_by(Login.id)):
        logins[login.account_id].append(login)
    use, words = use_of_accounts(admin, session), [word.casefold() for word in arguments.word]
    lines = [
        AccountLine(account, logins[account.id], use.get(account.id, AccountUse()))
        for account in session.scalars(select(Account).order_by(Account.id))
        if (account.blocked_at is not None or not arguments.blocked)
        and (arguments.since is None or account.created_at >= arguments.since)
    ]
    keys: dict[str, Any] = {
        "created": lambda line: line.account.created_at,
        "mods": lambda line: line.use.mods,
        "bytes": lambda line: line.use.bytes,
    }
    if arguments.by in keys:
        lines.sort(key=keys[arguments.by], reverse=True)
    for line in lines:
        names = [line.account.display_name, *(login.subject for login in line.logins)]
        if all(any(word in name.casefold() for name in names) for word in words):
            yield line


def list_accounts(admin: Any, arguments: argparse.Namespace) -> int:
    """Print one line per login, and per account without any."""
    start = (arguments.page - 1) * arguments.limit if arguments.limit else 0
    stop = start + arguments.limit if arguments.limit else None
    line = None
    with admin.reading() as session:
        for line in islice(find_lines(admin, session, arguments), start, stop):
            account = line.account
            if arguments.json or arguments.ids:
                admin.say_json(_list_document(line) if arguments.json else account.id)
                continue
            state = "" if account.blocked_at is None else ", blocked"
            facts = f"{describe_use(line.use)}, since {account.created_at:%Y-%m-%d}{state}"
            for login in [describe_login(login) for login in line.logins] or ["no sign-in method"]:
                admin.say(f"{account.id} {account.display_name}: {login}; {facts}")
    if line is None and not (arguments.json or arguments.ids):
        admin.say("No matching accounts." if arguments.page == 1 else "There are no more.")
    return 0


def _list_document(line: AccountLine) -> dict[str, Any]:
    account = line.account
    return {
        "id": account.id,
        "displayName": account.display_name,
        "createdAt": iso(account.created_at),
        "blockedAt": account.blocked_at and iso(account.blocked_at),
        "blockReason": account.block_reason,
        "logins": [_login_document(login) for login in line.logins],
        "mods": line.use.mods,
        "files": line.use.files,
        "bytes": line.use.bytes,
    }


def _login_document(login: Login) -> dict[str, Any]:
    return {"kind": login.kind, "subject": login.subject, "confirmed": login.verified}


def show_account(admin: Any, session: Session, account: Account, *, json: bool = False) -> None:
    """Print all data of the account except secrets."""
    overview = read_overview(session, account.id)
    use = use_of_accounts(admin, session).get(account.id, AccountUse())
    sessions = [
        (kind, row) for kind, of_kind in (("program", overview.clients), ("pages", overview.pages)) for row in of_kind
    ]
    if json:
        extra = {
            "authenticator": overview.has_authenticator,
            "publisherKeys": [{"subject": key.subject, "modId": key.mod_id} for key in overview.keys],
            "sessions": [{"kind": kind, "label": row.label, "usedAt": iso(row.used_at)} for kind, row in sessions],
        }
        admin.say_json(_list_document(AccountLine(account, overview.logins, use)) | extra)
        return
    # The kind is of the login that it was made with, which may be gone.
    kind = account.kind if overview.logins or overview.keys else "no sign-in method"
    admin.say(f"{account.id} {account.display_name}, {kind}, since {iso(account.created_at)}")
    if account.blocked_at is not None:
        reason = f": {account.block_reason}" if account.block_reason else ""
        admin.say(f"  blocked since {iso(account.blocked_at)}{reason}")
    for login in overview.logins:
        admin.say(f"  login: {describe_login(login)}")
    for key in overview.keys:
        scope = "all mods" if key.mod_id is None else f"mod {key.mod_id}"
        admin.say(f"  publisher key: {key.subject}, {scope}")
    admin.say(f"  authenticator: {'yes' if overview.has_authenticator else 'no'}")
    admin.say(f"  uses: {describe_use(use)}")
    for kind, row in sessions:
        admin.say(f"  signed in: {kind} {row.label}, last used {iso(row.used_at)}")


def account_list_arguments(parser: argparse.ArgumentParser) -> None:
    """``[WORD ...] [--blocked] [--since TIME] [--by ORDER] [--limit N] [--page N] [--json] [--ids]``"""
    parser.add_argument("word", nargs="*", metavar="WORD", help="must be in the name or in an address")
    parser.add_argument("--blocked", action="store_true", help="only blocked accounts")
    parser.add_argument("--since", type=parse_moment, metavar="TIME", help="made since then, such as 2026-11-21 (UTC)")
    parser.add_argument("--by", choices=ORDERS, default="id", help="the order (%(default)s); bytes: the largest first")
    parser.add_argument("--limit", type=parse_count, metavar="N", help="at most this many (default: all)")
    parser.add_argument("--page", type=parse_count, default=1, metavar="N", help="with --limit; the first page is 1")
    add_json_option(parser)
    add_ids_option(parser)


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
    account_id = blocking.find_account_ids(session, [name]).get(name)
    account = None if account_id is None else lock_account(session, account_id)
    if account is None:
        raise StartRefused(f"there is no account {name}")
    return account


def _be(dry_run: bool) -> str:
    return "would be" if dry_run else "is"


def sign_out_account(admin: Any, session: Session, account: Account, *, dry_run: bool = False) -> None:
    """End every session; access tokens expire within half an hour."""
    recovery.end_sessions(session, [account.id])
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
    logins = session.scalars(select(Login).where(Login.account_id == account.id, *BY_PASSWORD)).all()
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


def list_keys(admin: Any, session: Session, account: Account, *, json: bool = False) -> None:
    """Print one line per publisher key; none of them has the key's text."""
    keys = read_overview(session, account.id).keys
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
    "block": ("keep owners out at once; their published mods stay", blocking.block_named),
    "unblock": ("let owners sign in again", blocking.unblock_named),
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
