"""``modhub-admin account list`` and ``account show``: who there is, and what their mods take up."""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.db import iso
from modhub.plugins.commands import add_ids_option, add_json_option, parse_count, parse_moment
from modhub.plugins.services import AccountUse, IMods
from modhub_auth.container import AuthServices
from modhub_auth.models import Account, Login, LoginKind
from modhub_auth.read_service import LoginMethod

ORDERS: Final = ("id", "created", "mods", "bytes")
"""What the list can be sorted by; all but the id begin with the newest or the largest."""


@dataclass(frozen=True, slots=True)
class AccountLine:
    """An account in the list."""

    account: Account
    logins: list[Login]
    use: AccountUse


def use_of_accounts(admin: Any, session: Session) -> dict[int, AccountUse]:
    """What the mods of each account take up."""
    use: dict[int, AccountUse] = admin.find_service(IMods).get_use_of_accounts(session)
    return use


def describe_use(use: AccountUse) -> str:
    """``2 mods, 3 files, 12345 bytes``"""
    counts = ((use.mods, "mod"), (use.files, "file"), (use.bytes, "byte"))
    return ", ".join(f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in counts)


_SIGNS_IN = Login.kind != LoginKind.KEY.value
"""Publisher keys are no way to sign in."""


def describe_login(login: Login | LoginMethod) -> str:
    """Kind, subject and whether it is confirmed."""
    return f"{login.kind} {login.subject} ({'confirmed' if login.verified else 'not confirmed'})"


def find_lines(admin: Any, session: Session, arguments: argparse.Namespace) -> Iterator[AccountLine]:
    """The accounts that the filters choose, in the chosen order."""
    logins = defaultdict(list)
    for login in session.scalars(select(Login).where(_SIGNS_IN).order_by(Login.id)):
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


def _login_document(login: Login | LoginMethod) -> dict[str, Any]:
    return {"kind": str(login.kind), "subject": login.subject, "confirmed": bool(login.verified)}


def show_account(admin: Any, session: Session, account: Account, *, json: bool = False) -> None:
    """Print all data of the account except secrets."""
    overview = admin.find_service(AuthServices).account_reader.overview(account.id)
    use = use_of_accounts(admin, session).get(account.id, AccountUse())
    sessions = [
        (kind, row) for kind, of_kind in (("program", overview.clients), ("pages", overview.pages)) for row in of_kind
    ]
    if json:
        logins = list(
            session.scalars(select(Login).where(Login.account_id == account.id, _SIGNS_IN).order_by(Login.id))
        )
        extra = {
            "authenticator": bool(overview.has_authenticator),
            "publisherKeys": [{"subject": key.subject, "modId": key.mod_id} for key in overview.keys],
            "sessions": [{"kind": kind, "label": row.label, "usedAt": iso(row.used_at)} for kind, row in sessions],
        }
        admin.say_json(_list_document(AccountLine(account, logins, use)) | extra)
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
