"""Finds published mods whose title is nearly what somebody typed: candidates by trigrams, ranked by the distance.

A trigram index finds what is spelled right. So candidates have all words but one, else a half of a word: a typing error
leaves the other half as it is.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final

from sqlalchemy import ARRAY, Text, and_, bindparam, column, func, literal_column, or_, select, table

from modhub.catalogue.models import PublicText
from modhub.catalogue.queries import AnySelect
from modhub.catalogue.search_values import MAX_INDEXED, TRIGRAM
from modhub.content.folding import like_pattern
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row

MAX_CANDIDATES: Final = 1000
MAX_TYPED: Final = 8
"""A search of more words is a sentence, not a title."""
SIMILARITY: Final = 0.7
"""Of each word to one of the title: one of four letters may be wrong, three of ten."""
_FTS: Final = table("fts_core_text", column("rowid"))


class SimilarTitles:
    """Finds similar titles; one per application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader
        self._indexed = PreparedQuery(indexed_candidates_statement())
        self._with_any = PreparedQuery(any_candidates_statement())
        self._but_one = {
            count: PreparedQuery(but_one_candidates_statement(count)) for count in range(2, MAX_INDEXED + 1)
        }

    def find(self, words: list[str], most: int) -> list[int]:
        """Return the ids of at most ``most`` mods with a title like these folded words, the most similar first."""
        long_words = sorted((word for word in words if len(word) >= TRIGRAM), key=len, reverse=True)[:MAX_INDEXED]
        if not long_words or len(words) > MAX_TYPED:
            return []
        for candidates in (self._candidates_but_one, self._candidates_with_half):
            if ranked := rank_titles(words, candidates(long_words)):
                return ranked[:most]
        return []

    def _candidates_but_one(self, words: list[str]) -> list[Row]:
        """Those that have all words but one."""
        if len(words) == 1:
            return []
        if self._reader.dialect == "sqlite":
            groups = (" AND ".join(map(_quoted, group)) for group in combinations(words, len(words) - 1))
            return self._reader.rows(self._indexed, match=" OR ".join(f"({group})" for group in groups))
        patterns = {f"word{index}": like_pattern(word) for index, word in enumerate(words)}
        return self._reader.rows(self._but_one[len(words)], **patterns)

    def _candidates_with_half(self, words: list[str]) -> list[Row]:
        """Those that have a half of a word."""
        halves = [half for word in words for half in _halves(word)]
        if self._reader.dialect == "sqlite":
            return self._reader.rows(self._indexed, match=" OR ".join(map(_quoted, halves)))
        return self._reader.rows(self._with_any, parts=[like_pattern(half) for half in halves])


def _listed() -> AnySelect:
    """(id, folded title and games)"""
    return select(PublicText.mod_id, PublicText.text)


def indexed_candidates_statement() -> AnySelect:
    """The newest candidates that SQLite's index of trigrams finds by ``match``."""
    matches = literal_column("fts_core_text").op("MATCH")(bindparam("match"))
    newest = select(_FTS.c.rowid).where(matches).order_by(_FTS.c.rowid.desc()).limit(MAX_CANDIDATES)
    return _listed().where(PublicText.updated_at.in_(newest))


def but_one_candidates_statement(count: int) -> AnySelect:
    """Candidates with all but one of ``word0``, … ``count`` patterns; each alternative is looked up in the index."""
    likes = [PublicText.text.like(bindparam(f"word{index}"), escape="\\") for index in range(count)]
    alternatives = (and_(*group) for group in combinations(likes, count - 1))
    return _listed().where(or_(*alternatives)).limit(MAX_CANDIDATES)


def any_candidates_statement() -> AnySelect:
    """Candidates with any of the patterns ``parts``."""
    parts = func.any(bindparam("parts", type_=ARRAY(Text)))
    return _listed().where(PublicText.text.op("LIKE", is_comparison=True)(parts)).limit(MAX_CANDIDATES)


def rank_titles(words: list[str], candidates: Iterable[Row]) -> list[int]:
    """The ids of the candidates in whose title each of the folded words has a similar one, the most similar first."""
    titles = {mod_id: text.partition("\n")[0].split() for mod_id, text in candidates}
    known = {word for title in titles.values() for word in title}
    similar = [_similar(word, known) for word in words]
    if not all(similar):
        return []
    ranked = []
    for mod_id, title in titles.items():
        best = [max((scores.get(word, 0.0) for word in title), default=0.0) for scores in similar]
        if all(best):
            # Of equal ones that with fewer other words, then the newest.
            ranked.append((-sum(best), len(title), -mod_id))
    return [-mod_id for _, _, mod_id in sorted(ranked)]


def _similar(typed: str, known: set[str]) -> dict[str, float]:
    """How similar words are to the typed one, of those that are; one that has it in it is as good as equal."""
    # 5 MB, for searches that find nothing (ADR 049).
    from rapidfuzz import process  # noqa: PLC0415
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    scored = process.extract(typed, known, scorer=OSA.normalized_similarity, score_cutoff=SIMILARITY, limit=None)
    return {word: score for word, score, _ in scored} | {word: 1.0 for word in known if typed in word}


def _quoted(part: str) -> str:
    return '"' + part.replace('"', '""') + '"'


def _halves(word: str) -> Iterator[str]:
    """Both halves, which overlap where the word is short; the word itself if it has one trigram."""
    middle = max(TRIGRAM, (len(word) + 1) // 2)
    yield from dict.fromkeys((word[:middle], word[-middle:]))
