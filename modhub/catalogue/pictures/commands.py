"""``modhub-admin pictures rebuild``: make the derived pictures of all images again."""

import argparse
from typing import Any

from pyramid.config import Configurator
from sqlalchemy import func, select

from modhub.audit import record
from modhub.catalogue.pictures import services
from modhub.catalogue.pictures.maker import PictureMaker
from modhub.catalogue.pictures.models import PictureSet, PictureTask
from modhub.plugins.commands import AdminCommand, add_dry_run_option


def run_pictures(admin: Any, arguments: argparse.Namespace) -> int:
    """Queue all images and make their pictures. Safe while the service runs, which helps."""
    if arguments.dry_run:
        with admin.reading() as session:
            total = services.count_images(session)
        admin.say(f"Would make the pictures of {total} images again. Nothing was changed.")
        return 0
    worker = PictureMaker(admin.databases, admin.store)
    with admin.writing() as (session, _):
        services.forget_deleted_images(session)
        services.queue_all(session)
        record(session, "pictures rebuilt", "catalogue", images=services.count_images(session))
    while worker.make_next():
        pass
    with admin.reading() as session:
        made = session.scalar(select(func.count()).where(PictureSet.digest.is_not(None)))
        without = session.scalar(select(func.count()).where(PictureSet.problem.is_not(None)))
        waiting = session.scalar(select(func.count()).select_from(PictureTask))
    admin.say(f"Images with pictures: {made}. Images that cannot be decoded: {without}.")
    if waiting:
        admin.say(f"The running service is making the pictures of {waiting} more.")
    return 0


def picture_arguments(parser: argparse.ArgumentParser) -> None:
    """``rebuild``"""
    parser.add_argument("action", choices=["rebuild"], help="make the pictures of all images again")
    add_dry_run_option(parser, "say how many images there are, change nothing")


def includeme(config: Configurator) -> None:
    """The command ``pictures``."""
    about = "make smaller pictures of all images"
    examples = "pictures rebuild --dry-run\npictures rebuild"
    config.add_command(AdminCommand("pictures", about, picture_arguments, run_pictures, examples=examples))
