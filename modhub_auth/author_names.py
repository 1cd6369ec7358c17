"""The name of an account as a part that moderators can remove: :class:`modhub.plugins.declarations.RemovablePart`."""

from collections.abc import Mapping
from typing import Any

from pyramid.config import Configurator
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.content.text import N_
from modhub_auth.models import Account
from modhub_auth.services import default_name, lock_account


def remove_name(session: Session, account_id: int, _key: str) -> dict[str, Any] | None:
    """Give the account the name of those that chose none (C-ACC-6)."""
    account = lock_account(session, account_id)
    if account is None or account.display_name == default_name(account):
        return None
    kept = {"name": account.display_name}
    _rename(session, account, default_name(account), "name removed by a moderator")
    return kept


def restore_name(session: Session, account_id: int, _key: str, kept: Mapping[str, Any]) -> bool:
    """Give it back its name; False if it has got another one."""
    account = lock_account(session, account_id)
    if account is None or account.display_name not in {default_name(account), kept["name"]}:
        return False
    if account.display_name != kept["name"]:
        _rename(session, account, kept["name"], "name restored by a moderator")
    return True


def _rename(session: Session, account: Account, name: str, action: str) -> None:
    account.display_name = name
    record(session, action, "account", account.id)
    session.flush()


def includeme(config: Configurator) -> None:
    """Declare the part."""
    config.add_removable_part("author_name", N_("Name of the account"), remove_name, restore_name, target="account")
