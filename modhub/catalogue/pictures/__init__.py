"""Derived pictures: smaller copies of the images of mods, made outside of requests (see README.md here).

A row in :class:`.models.PictureTask` asks for them. The worker of a process claims it, decodes the image in a bounded
child process, and stores the pictures as files of their own.
"""

from pyramid.config import Configurator

from modhub.catalogue.pictures import services
from modhub.catalogue.pictures.maker import PICTURE_SECONDS, make_all_pictures
from modhub.catalogue.pictures.squares import SquarePictures
from modhub.plugins.services import ISquarePictures


def includeme(config: Configurator) -> None:
    """Declare the worker and the service, and let ``modhub-admin verify`` check the rows."""
    config.add_service(ISquarePictures, SquarePictures())
    config.add_worker("pictures", make_all_pictures, PICTURE_SECONDS, long=True)
    config.add_check("pictures", lambda _registry, session: services.picture_damage(session), when=("verify",))
    config.include("modhub.catalogue.pictures.commands")
