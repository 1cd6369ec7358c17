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


def titles_in(tags: Iterable[TagTitles], language: str) -> dict[str, str]:
    """The titles in this language by name, in the order of the titles."""
    titled = ((tag.de if language == "de" else tag.en, tag.name) for tag in tags)
    return {name: title for title, name in sorted(titled, key=lambda pair: (fold_search(pair[0]), pair[1]))}


_TAGS: Final = select(Tag.name, Tag.title_en, Tag.title_de).order_by(Tag.name)
_LISTED: Final = PreparedQuery(_TAGS)
_OF_MOD: Final = PreparedQuery(_TAGS.join(ModTag, ModTag.tag == Tag.name).where(ModTag.mod_id == bindparam("id")))


def listed_tags(reader: RawQueryExecutor) -> list[TagTitles]:
    """The operator's list, by name."""
    return [TagTitles(*row) for row in reader.rows(_LISTED)]


def tags_of_mod(reader: RawQueryExecutor, mod_id: int) -> list[TagTitles]:
    """The tags of a mod, by name. Whether it may be seen is for the caller to check."""
    return [TagTitles(*row) for row in reader.rows(_OF_MOD, id=mod_id)]
