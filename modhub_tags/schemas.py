"""The JSON of tags."""

from msgspec import Struct


class TagsChange(Struct):
    """``PUT /api/modhub/{id}/tags``"""

    tags: list[str]


class TagsDocument(Struct):
    """The tags of a mod, by name."""

    tags: list[str]


class TitlesDocument(Struct):
    """What readers see of a tag, by language."""

    en: str
    de: str


class ListedTag(Struct):
    """A tag of the operator's list."""

    name: str
    titles: TitlesDocument


class TagListDocument(Struct):
    """``GET /api/modhub/tags``"""

    tags: list[ListedTag]
