"""The JSON of tags."""

from typing import Annotated

from msgspec import Struct

from modhub.base.operations import about
from modhub_tags.limits import MOST


class TagsChange(Struct):
    """``PUT /api/modhub/{id}/tags``"""

    tags: Annotated[
        list[str],
        about(f"Names of the list, at most {MOST}; a name that is sent twice counts once", ["map", "timer"]),
    ]


class TagsDocument(Struct):
    """The tags of a mod, by name."""

    tags: Annotated[list[str], about("The names of the mod's tags, by name", ["map", "timer"])]


class TitlesDocument(Struct):
    """What readers see of a tag, by language."""

    en: Annotated[str, about("The English title", "Map")]
    de: Annotated[str, about("The German title", "Karte")]


class ListedTag(Struct):
    """A tag of the operator's list."""

    name: Annotated[str, about("1 to 32 of `a` to `z`, `0` to `9` and `-`; what calls and addresses use", "map")]
    titles: Annotated[TitlesDocument, about("What to show, by language")]


class TagListDocument(Struct):
    """``GET /api/modhub/tags``"""

    tags: Annotated[list[ListedTag], about("The tags, by name")]
