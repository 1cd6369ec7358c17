"""The limits of links and profiles: characters, except where bytes are named."""

from typing import Final

from modhub.content.limits import KB, MB

MAX_LINK: Final = 200
MAX_LINKS: Final = 3
"""Links of an author."""
SENTENCE: Final = 200
LICENSE: Final = 200
"""Of an SPDX expression, and of a licence in words."""
STORED_LICENSE: Final = 220
PICTURE: Final = 2 * MB
"""Bytes of the file that an author sends."""
PICTURE_SIDE: Final = 256
"""Pixels of the picture that is made of it."""
BODY: Final = 8 * KB
"""Bytes of a JSON body with all links."""
