"""The limits of app builds (C-UP-11), in bytes."""

from typing import Final

from modhub.content.limits import KB, MB

BUILD: Final = 64 * MB
SECTION: Final = 256 * KB

OS: Final = 32
"""Characters of a platform's name (C-APP-1)."""
