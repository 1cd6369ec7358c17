"""The declarations that included packages made with the directives of :mod:`modhub.plugins`."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from modhub.base.identity import CredentialKind
from modhub.base.operations import Refusal
from modhub.base.settings import Setting
from modhub.blobs.naming import BlobNames
from modhub.blobs.store import BlobStoreFactory
from modhub.plugins.commands import AdminCommand


@dataclass(frozen=True, slots=True)
class Feature:
    """An included feature; ``name`` is also the prefix of its settings."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class Migrations:
    """The migrations of one package: a folder of alembic revisions, and the prefix of its tables."""

    package: str
    folder: str
    table_prefix: str

    @property
    def version_table(self) -> str:
        """One per package, so that removing a feature breaks no later upgrade."""
        return f"{self.package}_alembic_version"


PANEL_PLACES: Final = (
    "navigation",
    "personal",
    "notice",
    "mod",
    "app",
    "author",
    "account",
    "browse",
    "mine",
    "details",
    "workshop",
    "workshop_script",
    "footer",
)
"""The places of the core's pages that show panels."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A named block at a place in the core's pages.

    ``render(context, request)`` returns ``Markup``, text (which is escaped) or None for nothing. At the place
    ``details`` it is called with ``errors`` too, the messages of a refused form by field.
    """

    place: str
    name: str
    order: int
    render: Callable[..., Any]
    fields: tuple[str, ...] = ()
    """What it adds to a form: sent again if the form has expired."""


@dataclass(frozen=True, slots=True, eq=False)
class ModColumn:
    """What pages and feeds order, filter or count mods by; made by ``config.add_mod_column``.

    ``mod_id`` and ``value`` are columns of one table. Compared by identity: columns have no other equality.
    """

    name: str
    """The value of ``sort``, and the query parameter of the filter."""
    mod_id: Any
    value: Any
    order: str = ""
    """The msgid of an order: highest ``value`` first, of equal ones the mod created last.

    The table has at most one row a mod. Mods without a row follow, the last updated first.
    """
    row: bool = False
    """Whether its first mods are a row of the front, in place of the top-rated ones."""
    figure: tuple[str, ...] = ()
    """Singular and plural, msgids with ``%(num)s``, of a number that authors' pages sum up; 0 is not shown.

    The table has at most one row a mod.
    """
    filter: tuple[str, ...] = ()
    """The msgids of a filter ("Tags") and of no choice ("All tags"): it finds mods that have a row with the value.

    The table has at most one row for a mod and a value.
    """
    labels: Callable[[Any], Mapping[str, str]] | None = None
    """``labels(request)`` returns the values of the filter with what readers see, in at most one statement."""
    off_front: Any = None
    """A condition: the rows of the front leave out mods with a row that meets it; lists and searches do not.

    What the front shows is kept until the serial moves: when a mod begins or ceases to meet it, call
    :func:`modhub.db.changes.mark_changed`.
    """


ModDetail = Callable[[Any, Collection[int]], Mapping[int, Any]]
"""``read(session, ids)``: what stands beside each of these published mods, by id; made by ``config.add_mod_detail``."""
API_SORTS: Final = frozenset({"new", "top"})
"""The orders of the list that the API has too."""
LIST_PARAMETERS: Final = frozenset({"q", "game", "sort", "page", "size"})
"""The query parameters that every list has."""


@dataclass(frozen=True, slots=True)
class RemovablePart:
    """A part of a mod or of what an author shows, which moderators can take out and put back.

    ``target`` is ``mod`` or ``account``. Each function runs in the transaction of a decision. ``remove(session,
    target_id, key)`` returns what ``restore`` needs as JSON, or None if there is no such thing; ``restore(session,
    target_id, key, kept)`` returns False if it cannot come back, because its place has been taken or its target is
    gone; ``discard(session, target_id, key, kept)`` deletes what else is kept, when nobody can restore it any more.
    """

    name: str
    title: str
    target: str
    remove: Callable[[Any, int, str], dict[str, Any] | None]
    restore: Callable[[Any, int, str, Mapping[str, Any]], bool]
    discard: Callable[[Any, int, str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class AccountData:
    """What a feature has about an account, for the person whose account it is.

    ``document`` becomes JSON. ``files`` are ids of :class:`modhub.blobs.models.StoredBlob` by their path in the
    archive.
    """

    document: Any
    files: Mapping[str, int] = field(default_factory=dict)


Moment = Literal["ready", "doctor", "verify"]
"""When a check runs: for ``/readyz``, for ``modhub-admin doctor``, for ``modhub-admin verify``."""


@dataclass(frozen=True, slots=True)
class DeclaredCheck:
    """A check of a feature (``config.add_check``): ``run(registry, session)`` returns a sentence for each problem."""

    name: str
    run: Callable[[Any, Any], Iterable[str]]
    when: tuple[Moment, ...]
    seconds: float = 5.0
    """After that ``doctor`` waits no longer, and the check has failed."""


@dataclass(frozen=True, slots=True)
class Worker:
    """Background work (``config.add_worker``): ``run(registry)`` is one round of it."""

    name: str
    run: Callable[[Any], object]
    every: float
    long: bool
    alone: bool
    at_stop: bool


SitemapEntries = Iterable[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class SitemapSource:
    """A source of public addresses: ``addresses(registry, part)`` and ``parts(registry)``, as in ``add_sitemap``."""

    addresses: Callable[[Any, int], SitemapEntries]
    parts: Callable[[Any], int]


@dataclass(slots=True)
class Declarations:
    """The declarations of one application, filled during configuration and read-only afterwards."""

    includes: tuple[str, ...] = ()
    """The packages that ``pyramid.includes`` names, in order."""
    ini_keys: tuple[str, ...] = ()
    """The keys of the ini."""
    limits_statements: bool = True
    """Whether statements of the database have a time limit, unlike those of commands."""
    features: list[Feature] = field(default_factory=list)
    children: dict[tuple[Any, str], Callable[[Any, str], Any]] = field(default_factory=dict)
    """The factory of each child, by the parent's interface and the child's name."""
    credentials: dict[tuple[CredentialKind, Any], Any] = field(default_factory=dict)
    """The :class:`modhub.plugins.resources.ICredential` of each kind and side (``IApi`` or ``ISite``)."""
    scopes: dict[str, str] = field(default_factory=dict)
    """A description of what each scope of a machine key allows, by its name."""
    default_scopes: set[str] = field(default_factory=set)
    """The scopes of a machine key whose line names none."""
    commands: dict[str, AdminCommand] = field(default_factory=dict)
    checks: dict[str, DeclaredCheck] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)
    blob_names: dict[str, BlobNames] = field(default_factory=dict)
    """What tells the operator which files belong to a feature."""
    blob_stores: dict[str, BlobStoreFactory | str] = field(default_factory=dict)
    """The factory of a store, by the scheme of its URL."""
    migrations: list[Migrations] = field(default_factory=list)
    personal_data: dict[str, Callable[[Any, int], AccountData | None]] = field(default_factory=dict)
    """What collects the data of an account, by the name of its document."""
    panels: list[Panel] = field(default_factory=list)
    refusals: dict[str, tuple[Refusal, ...]] = field(default_factory=dict)
    """What features add to the refusals of a call, by its operation's id."""
    mod_columns: dict[str, ModColumn] = field(default_factory=dict)
    """What pages order, filter and count mods by, by the value of ``sort`` or the query parameter."""
    mod_details: dict[str, ModDetail] = field(default_factory=dict)
    """What ``POST /api/modhub/details`` answers of mods besides what the core knows, by field."""
    removable_parts: dict[str, RemovablePart] = field(default_factory=dict)
    """What moderators can remove, by its name."""
    change_kinds: set[str] = field(default_factory=set)
    """The kinds of changes, as in :mod:`modhub.db.changes`."""
    cross_origin: list[re.Pattern[str]] = field(default_factory=list)
    robots: list[str] = field(default_factory=list)
    """Path prefixes that robots are asked not to visit."""
    sitemaps: dict[str, SitemapSource] = field(default_factory=dict)
    demos: list[tuple[str, Callable[[Any], None] | str]] = field(default_factory=list)
    """What fills a new installation with samples, by what it is called."""
    static_folders: dict[str, Path] = field(default_factory=dict)
    """The folders of static files, by package."""
    settings: list[Setting] = field(default_factory=list)
    settings_prefixes: set[str] = field(default_factory=set)

    @property
    def orders(self) -> tuple[ModColumn, ...]:
        """The orders of lists that pages have besides those of the API."""
        return tuple(column for column in self.mod_columns.values() if column.order)

    @property
    def filters(self) -> tuple[ModColumn, ...]:
        """The filters of lists that pages have."""
        return tuple(column for column in self.mod_columns.values() if column.filter)

    @property
    def figures(self) -> tuple[ModColumn, ...]:
        """The numbers on cards."""
        return tuple(column for column in self.mod_columns.values() if column.figure)

    @property
    def off_front(self) -> tuple[ModColumn, ...]:
        """What the rows of the front leave out."""
        return tuple(column for column in self.mod_columns.values() if column.off_front is not None)

    def checks_at(self, moment: Moment) -> list[DeclaredCheck]:
        """The checks that run then, in the order in which they were declared."""
        return [check for check in self.checks.values() if moment in check.when]
