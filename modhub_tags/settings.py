"""The settings of this feature."""

from typing import Final

from modhub.base.settings import Setting
from modhub_tags.limits import is_tag_name


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
