"""``modhub-admin account export``: what is stored about an account, for the person whose account it is (C-DAT-6)."""

import argparse
import os
from pathlib import Path
from typing import Any

from modhub.audit import record
from modhub.base.settings import StartRefused
from modhub.plugins.commands import add_json_option
from modhub.web.personal_archives import personal_archive
from modhub_auth import account_batches
from modhub_auth.models import Account


def export_arguments(parser: argparse.ArgumentParser) -> None:
    """The account, and where the archive goes"""
    parser.add_argument("account", help="its number or email address")
    parser.add_argument("--to", type=Path, required=True, metavar="FILE", help="the archive; it must not exist")
    add_json_option(parser)


def export_account(admin: Any, arguments: argparse.Namespace) -> int:
    """Write the archive into a new file that nobody else can read. Nothing is locked meanwhile."""
    with admin.reading() as session:
        account_id = account_batches.find_account_ids(session, [arguments.account]).get(arguments.account)
        exists = account_id is not None and session.get(Account, account_id) is not None
    if account_id is None or not exists:
        raise StartRefused(f"there is no account {arguments.account}")
    try:
        descriptor = os.open(arguments.to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise StartRefused(f"{arguments.to} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(personal_archive(admin.registry, account_id))
            size = file.tell()
        with admin.writing() as (session, _):
            record(session, "own data exported", "account", account_id)
    except BaseException:
        arguments.to.unlink(missing_ok=True)
        raise
    if arguments.json:
        admin.say_json({"id": account_id, "bytes": size})
    else:
        admin.say(f"What is stored about account {account_id} is in {arguments.to}: {size} bytes.")
    return 0
