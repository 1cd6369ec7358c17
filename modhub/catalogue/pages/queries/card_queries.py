"""What lists of cards consist of."""

from dataclasses import dataclass
from typing import NamedTuple

from modhub.catalogue.pages.presenters.mod import Figure, ModPresenter
from modhub.catalogue.pages.queries import statements
from modhub.catalogue.read_service import ListParams


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list."""

    cards: list[ModPresenter]
    total: int
    params: ListParams

    @property
    def pages(self) -> int:
        """The number of pages, at least one."""
        return max(1, -(-self.total // self.params.size))


class AuthorTotals(NamedTuple):
    """What all published mods of an author have together. ``figures`` are those of features that are not 0."""

    ups: int
    downs: int
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class RelatedCards:
    """The mods that a mod's page shows as cards: some that require it, and some of its author."""

    users: list[ModPresenter]
    users_total: int
    others: list[ModPresenter]

    @property
    def many_users(self) -> bool:
        """Whether there are more dependent mods than are counted."""
        return self.users_total > statements.MAX_DEPENDENTS_COUNTED
