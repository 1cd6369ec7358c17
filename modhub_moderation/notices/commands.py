"""``modhub-admin reporter``: whose malware notices count for automatic quarantine."""

import argparse
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.settings import StartRefused
from modhub.db import now
from modhub.plugins.commands import AdminCommand, add_dry_run_option, add_json_option
from modhub_auth.account_batches import find_account_ids
from modhub_auth.services import lock_account
from modhub_moderation.cases.models import TrustedReporter
from modhub_moderation.moderator_commands import list_holders

_EXAMPLES: Final = """\
reporter trust rita@example.org      malware notices of this account count for automatic quarantine
reporter distrust 12                 they no longer do; those already sent keep their weight
reporter list --json                 one JSON object per trusted reporter"""


def run_reporter(admin: Any, arguments: argparse.Namespace) -> int:
    """``reporter trust|distrust|list``"""
    if arguments.action == "list":
        return list_holders(admin, TrustedReporter, "No trusted reporters.", as_json=arguments.json)
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        account_id = find_account_ids(session, [arguments.account]).get(arguments.account)
        if account_id is None or lock_account(session, account_id) is None:
            raise StartRefused(f"there is no account {arguments.account}")
        said = {"trust": _trust, "distrust": _distrust}[arguments.action](session, account_id)
    admin.say("Nothing was changed." if arguments.dry_run else said)
    return 0


def _trust(session: Session, account_id: int) -> str:
    if session.get(TrustedReporter, account_id) is not None:
        return f"Account {account_id} is a trusted reporter already."
    session.add(TrustedReporter(account_id=account_id, since=now()))
    record(session, "reporter trusted", "account", account_id)
    return f"Account {account_id} is a trusted reporter now."


def _distrust(session: Session, account_id: int) -> str:
    reporter = session.get(TrustedReporter, account_id)
    if reporter is None:
        raise StartRefused(f"account {account_id} is no trusted reporter")
    session.delete(reporter)
    record(session, "reporter distrusted", "account", account_id)
    return f"Account {account_id} is no longer a trusted reporter."


def reporter_arguments(parser: argparse.ArgumentParser) -> None:
    """``trust ACCOUNT``, ``distrust ACCOUNT``, ``list``"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    trust = actions.add_parser("trust", help="trust an account's malware notices")
    distrust = actions.add_parser("distrust", help="trust them no longer")
    for action in (trust, distrust):
        action.add_argument("account", metavar="ACCOUNT", help="its number or email address")
        add_dry_run_option(action)
    add_json_option(actions.add_parser("list", help="list the trusted reporters"))


def includeme(config: Configurator) -> None:
    """Register the command."""
    about = "whose malware notices count for automatic quarantine"
    config.add_command(AdminCommand("reporter", about, reporter_arguments, run_reporter, examples=_EXAMPLES))
