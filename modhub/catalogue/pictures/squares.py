"""Pictures of people, for features: one square, made at once by the same child process.

There is no queue, as for images of mods: who sends a picture learns at once whether it can be used, and the bytes that
were sent are never stored. The request waits, so a process has at most one of these children, and others are turned
away instead of holding threads.
"""

import threading
from typing import BinaryIO, Final

from modhub.base.errors import busy, invalid
from modhub.catalogue.pictures.child import PROGRAM, Decoder, DecodingFailed
from modhub.content.text import N_

SQUARE_SECONDS: Final = 10.0
"""How long the child may take."""
WAIT_SECONDS: Final = 3.0
"""How long a picture waits for the one before it."""
_EXTENSION: Final = "jpg"
REFUSALS: Final = {
    "not_an_image": N_("This file is not a PNG, JPEG, GIF, WebP, BMP or AVIF image."),
    "too_large": N_("This image has too many pixels."),
}
_UNREADABLE: Final = N_("This image cannot be read.")


class SquarePictures:
    """See :class:`modhub.interfaces.ISquarePictures`."""

    def __init__(self, decoder: Decoder | None = None, wait: float = WAIT_SECONDS) -> None:
        self._decoder = decoder or Decoder(PROGRAM, SQUARE_SECONDS, "square")
        self._wait = wait
        self._turn = threading.Lock()

    def make(self, image: BinaryIO) -> bytes:
        """Run the child. Nothing of the database may be locked meanwhile."""
        if not self._turn.acquire(timeout=self._wait):
            raise busy()
        try:
            made = self._decoder.decode(image, lambda: None)
        except DecodingFailed as error:
            raise invalid(REFUSALS.get(error.problem, _UNREADABLE)) from None
        finally:
            self._turn.release()
        return next(file.content for file in made.files if file.extension == _EXTENSION)
