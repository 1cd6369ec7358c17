"""What operators see of profiles: the names of files, and a command."""

import argparse
from collections.abc import Collection
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.plugins.commands import AdminCommand, add_dry_run_option, add_json_option, parse_count
from modhub_profiles import services
from modhub_profiles.models import AuthorProfile, KeptPicture
from modhub_profiles.read_service import ProfileReader, ShownProfile

_EXAMPLES: Final = """\
profile clear 7 --dry-run        what the author of /Modhub/by/7 says about themselves, and what would be deleted
profile clear 7                  deletes the picture, the sentence and the links"""


def describe_pictures(session: Session, blob_ids: Collection[int]) -> dict[int, str]:
    """Say whose pictures these files are."""
    rows = select(AuthorProfile.picture_id, AuthorProfile.account_id).where(AuthorProfile.picture_id.in_(blob_ids))
    names = {picture_id or 0: f"the picture of account {account}" for picture_id, account in session.execute(rows)}
    kept = select(KeptPicture.blob_id, KeptPicture.account_id).where(KeptPicture.blob_id.in_(blob_ids))
    for blob_id, account in session.execute(kept):
        names[blob_id] = f"a picture of account {account}, which a moderator removed"
    return names


def run_profile(admin: Any, arguments: argparse.Namespace) -> int:
    """Show and clear a profile; 1 if the account has none."""
    account, reader = arguments.account, ProfileReader(admin.databases.raw_queries)
    profile = reader.profile_of(account)
    if profile == ShownProfile():
        admin.say(f"Account {account} says nothing about itself.")
        return 1
    shown = {"sentence": profile.sentence, "links": list(profile.links), "picture": profile.picture is not None}
    if arguments.json:
        admin.say_json({"account": account, **shown})
    else:
        has_picture = "yes" if profile.picture is not None else "no"
        admin.say(f"Sentence: {profile.sentence}\nLinks: {' '.join(profile.links)}\nPicture: {has_picture}")
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        services.clear_profile(session, account)
        record(session, "profile cleared", "account", account)
    if not arguments.json:
        admin.say("Nothing was deleted." if arguments.dry_run else "Deleted.")
    return 0


def profile_arguments(parser: argparse.ArgumentParser) -> None:
    """``clear``, the account, ``--json``, ``--dry-run``"""
    parser.add_argument("action", choices=["clear"], help="delete all that an author says about themselves")
    parser.add_argument("account", type=parse_count, help="the number of the account, as in /Modhub/by/7")
    add_json_option(parser)
    add_dry_run_option(parser, "show it, change nothing")


def includeme(config: Configurator) -> None:
    """The command ``profile``."""
    about = "delete what an author says about themselves"
    config.add_command(AdminCommand("profile", about, profile_arguments, run_profile, examples=_EXAMPLES))
