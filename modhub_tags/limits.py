"""The limits of tags, and their setting."""

import re
from typing import Final

from modhub.base.settings import Setting

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


def tag_names(value: str) -> tuple[str, ...]:
    """The names of tags in a setting, separated by spaces."""
    names = tuple(value.split())
    if not all(map(is_tag_name, names)):
        raise ValueError("must be names of tags, separated by spaces")
    return names


TAG_SETTINGS: Final = (
    Setting(
        "modhub_tags.off_front",
        tag_names,
        "library",
        "tags whose mods the rows of the front page leave out, separated by spaces; empty: none",
    ),
)
