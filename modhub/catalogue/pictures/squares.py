"""What a form waits for, made at once by the same child process: squares of people, copies without metadata.

There is no queue, as for images of mods: who sends a picture learns at once whether it can be used, and the bytes that
were sent are never stored. The request waits, so a process has at most one of these children, and others are turned
away instead of holding threads.
"""

import threading
from collections.abc import Callable
from typing import BinaryIO, Final, TypeVar

from modhub.base.errors import busy, invalid
from modhub.base.peers import caller_has_left
from modhub.catalogue.pictures.child import PROGRAM, SVG, Decoder, DecodingFailed
from modhub.content.text import N_

SQUARE_SECONDS: Final = 10.0
"""How long the child may take."""
WAIT_SECONDS: Final = 3.0
"""How long a picture waits for the one before it."""
_EXTENSION: Final = "jpg"
_NO_IMAGE: Final = N_("This file is not a PNG, JPEG, GIF, WebP, BMP or AVIF image.")
REFUSALS: Final = {
    "not_an_image": _NO_IMAGE,
    SVG: _NO_IMAGE,
    "too_large": N_("This image has too many pixels."),
    "not_copied": N_(
        "This image cannot be copied without changing how it looks. Remove the data with another program, "
        "then upload the image again."
    ),
}
_Made = TypeVar("_Made")
_UNREADABLE: Final = N_("This image cannot be read.")


class SquarePictures:
    """See :class:`modhub.plugins.services.ISquarePictures`."""

    def __init__(self, decoder: Decoder | None = None, wait: float = WAIT_SECONDS) -> None:
        self._decoder = decoder or Decoder(PROGRAM, SQUARE_SECONDS, "square")
        self._copier = Decoder(PROGRAM, SQUARE_SECONDS, "copy")
        self._wait = wait
        self._turn = threading.Lock()

    def make(self, image: BinaryIO) -> bytes:
        """Run the child. Nothing of the database may be locked meanwhile."""
        made = self._in_turn(lambda: self._decoder.decode(image, lambda: None))
        return next(file.content for file in made.files if file.extension == _EXTENSION)

    def copy(self, image: BinaryIO) -> bytes:
        """Run the child that copies, as :meth:`make` does."""
        return self._in_turn(lambda: self._copier.copy(image))

    def _in_turn(self, run: Callable[[], _Made]) -> _Made:
        if not self._turn.acquire(timeout=self._wait):
            raise busy()
        try:
            if caller_has_left():
                raise busy()
            return run()
        except DecodingFailed as error:
            raise invalid(REFUSALS.get(error.problem, _UNREADABLE)) from None
        finally:
            self._turn.release()
