"""Anonymous reads of tags, each in one statement."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from sqlalchemy import bindparam, select

from modhub.content.folding import fold_search
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor
from modhub_tags.models import ModTag, Tag


class TagTitles(NamedTuple):
    """A tag with its titles."""

    name: str
    en: str
    de: str

    def title(self, language: str) -> str:
        """What readers of this language see."""
        return self.de if language == "de" else self.en


def titles_in(tags: Iterable[TagTitles], language: str) -> dict[str, str]:
    """The titles by name, in the order of the titles."""
    titled = ((tag.title(language), tag.name) for tag in tags)
    return {name: title for title, name in sorted(titled, key=lambda pair: (fold_search(pair[0]), pair[1]))}


_TAGS: Final = select(Tag.name, Tag.title_en, Tag.title_de).order_by(Tag.name)
_LISTED: Final = PreparedQuery(_TAGS)
_OF_MOD: Final = PreparedQuery(_TAGS.join(ModTag, ModTag.tag == Tag.name).where(ModTag.mod_id == bindparam("id")))


class TagReader:
    """Reads tags. Whether a mod may be seen is for the caller to check."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader

    def listed(self) -> list[TagTitles]:
        """The operator's list, by name."""
        return [TagTitles(*row) for row in self._reader.rows(_LISTED)]

    def of_mod(self, mod_id: int) -> list[TagTitles]:
        """The tags of a mod, by name."""
        return [TagTitles(*row) for row in self._reader.rows(_OF_MOD, id=mod_id)]
