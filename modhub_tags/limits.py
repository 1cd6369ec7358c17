"""The limits of tags."""

import re
from typing import Final

TAG_NAME: Final = 32
"""Characters of a name."""
TAG_TITLE: Final = 40
"""Characters of a title."""
MOST: Final = 5
"""Tags of a mod."""
_TAG_NAME: Final = re.compile(f"[a-z0-9-]{{1,{TAG_NAME}}}")


def is_tag_name(name: str) -> bool:
    """Whether a tag may be called that (C-TAG-1)."""
    return _TAG_NAME.fullmatch(name) is not None
