"""The declarations that included packages made with the directives of :mod:`modhub.plugins`."""

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from modhub.base.identity import CredentialKind
from modhub.base.operations import Refusal
from modhub.base.page_declarations import CardFigure, FrontExclusion, ImageLink, PageFilter, PageOrder
from modhub.base.settings import Setting
from modhub.blobs.naming import BlobNames
from modhub.blobs.store import BlobStoreFactory


@dataclass(frozen=True, slots=True)
class StartOptions:
    """How this application was started: the packages that ``pyramid.includes`` names, in order, and the ini's keys."""

    includes: tuple[str, ...] = ()
    ini_keys: tuple[str, ...] = ()
    limits_statements: bool = True


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
    "notice",
    "welcome",
    "mod",
    "mod_install",
    "mod_report",
    "author_head",
    "author",
    "account",
    "browse",
    "front",
    "mine",
    "workshop_notice",
    "workshop",
    "workshop_script",
    "footer",
    "documentation",
)
"""The places of the core's pages that show panels."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A named block at a place in the core's pages.

    ``render(context, request)`` returns ``Markup``, text (which is escaped) or None for nothing. ``replaces`` names
    the panel at the same place that is not shown beside this one.
    """

    place: str
    name: str
    order: int
    render: Callable[[Any, Any], Any]
    replaces: str = ""


API_SORTS: Final = frozenset({"new", "top"})
"""The orders of the list that the API has too."""
LIST_PARAMETERS: Final = frozenset({"q", "game", "sort", "page", "size"})
"""The query parameters that every list has."""


@dataclass(frozen=True, slots=True)
class AdminCommand:
    """A command of ``modhub-admin``: ``run(admin, arguments)`` returns the exit code.

    ``needs_schema``: run it only if the database has the schema of this code. ``examples`` are lines for ``--help``,
    each a command line after ``modhub-admin -c my.ini``.
    """

    name: str
    help: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Any, Namespace], int]
    needs_schema: bool = True
    examples: str = ""


def add_json_option(parser: ArgumentParser) -> None:
    """Add ``--json`` to a command that lists something: it prints by ``admin.say_json``, one object per line."""
    parser.add_argument("--json", action="store_true", help="for programs: one JSON object per line")


def add_dry_run_option(parser: ArgumentParser, help_text: str = "say what would happen, change nothing") -> None:
    """Add ``--dry-run``, which every command that changes something has; `Admin.writing` takes it."""
    parser.add_argument("--dry-run", action="store_true", help=help_text)


def add_yes_option(parser: ArgumentParser) -> None:
    """Add ``--yes`` and ``--dry-run`` to a command that cannot be undone; see :func:`is_rehearsal`."""
    parser.add_argument("--yes", action="store_true", help="do it; without it: say what would go, and exit 1")
    add_dry_run_option(parser)


def is_rehearsal(arguments: Namespace) -> bool:
    """Whether the command only says what it would do: with ``--dry-run``, or without a ``--yes`` that it asks for."""
    return arguments.dry_run or not getattr(arguments, "yes", True)


def end_rehearsal(admin: Any, arguments: Namespace) -> int:
    """Say that nothing was changed; the exit code, 1 where ``--yes`` is missing."""
    admin.say("Nothing was changed." if arguments.dry_run else "Nothing was changed. Add --yes to do it.")
    return 0 if arguments.dry_run else 1


def add_ids_option(parser: ArgumentParser) -> None:
    """Add ``--ids`` to a command that lists something: its output is what :func:`read_names` takes for ``-``."""
    parser.add_argument("--ids", action="store_true", help="only the ids, one per line: input for an action on -")


def add_batch_option(parser: ArgumentParser) -> None:
    """Add ``--batch`` to a command that undoes what another one did to many things."""
    help_text = "undo what a command did to many at once; NUMBER is that of its entry in the audit trail"
    parser.add_argument("--batch", type=parse_count, metavar="NUMBER", help=help_text)


def read_names(words: Sequence[str]) -> list[str]:
    """The names on a command line, each once; for ``-`` those on standard input, separated by spaces or lines."""
    names = [name for word in words for name in (sys.stdin.read().split() if word == "-" else [word])]
    return list(dict.fromkeys(names))


def parse_count(value: str) -> int:
    """The whole number from 1 to 999,999,999 that an argument is."""
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", value, re.ASCII):
        raise ArgumentTypeError(f"{value!r} is not a number from 1 to 999999999")
    return int(value)


def parse_moment(value: str) -> datetime:
    """The moment that an argument names, such as 2026-11-21 or 2026-11-21T08:15Z; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise ArgumentTypeError(f"{value!r} is not a date or time such as 2026-11-21T08:15Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


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


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """A check of ``modhub-admin doctor``: ``find_problems(admin)`` returns sentences that say what to do."""

    label: str
    find_problems: Callable[[Any], Iterable[str]]
    seconds: float
    """A check that takes longer has failed."""


UploadInspector = Callable[[Any], Any]
"""``inspect(request)``: the :class:`modhub.plugins.moderation.IUploadInspection` of one upload, None for none."""
PublishCheck = Callable[[Any, int], None]
"""``check(session, mod_id)`` raises the :class:`modhub.base.errors.ApiError` for which a mod is not published now."""


@dataclass(frozen=True, slots=True)
class Worker:
    """Background work (``config.add_worker``): ``run(registry)`` is one round of it."""

    name: str
    run: Callable[[Any], object]
    every: float
    alone: bool
    at_stop: bool


@dataclass(slots=True)
class Declarations:
    """The declarations of one application, filled during configuration and read-only afterwards."""

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
    health_checks: dict[str, Callable[[Any], str | None]] = field(default_factory=dict)
    doctor_checks: list[DoctorCheck] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    maintenance: dict[str, Callable[[Any], Iterable[str]]] = field(default_factory=dict)
    blob_names: dict[str, BlobNames] = field(default_factory=dict)
    """What tells the operator which files belong to a feature."""
    blob_stores: dict[str, BlobStoreFactory | str] = field(default_factory=dict)
    """The factory of a store, by the scheme of its URL."""
    migrations: list[Migrations] = field(default_factory=list)
    personal_data: dict[str, Callable[[Any, int], AccountData | None]] = field(default_factory=dict)
    """What collects the data of an account, by the name of its document."""
    panels: list[Panel] = field(default_factory=list)
    upload_inspectors: dict[str, UploadInspector] = field(default_factory=dict)
    publish_checks: dict[str, PublishCheck] = field(default_factory=dict)
    refusals: dict[str, tuple[Refusal, ...]] = field(default_factory=dict)
    """What features add to the refusals of a call, by its operation's id."""
    page_orders: dict[str, PageOrder] = field(default_factory=dict)
    """The orders of the list that only pages have, by the value of ``sort``."""
    page_filters: dict[str, PageFilter] = field(default_factory=dict)
    """The filters of the list that only pages have, by their query parameter."""
    front_exclusions: dict[str, FrontExclusion] = field(default_factory=dict)
    card_figures: dict[str, CardFigure] = field(default_factory=dict)
    removable_parts: dict[str, RemovablePart] = field(default_factory=dict)
    """What moderators can remove, by its name."""
    image_links: dict[str, ImageLink] = field(default_factory=dict)
    change_kinds: set[str] = field(default_factory=set)
    """The kinds of changes, as in :mod:`modhub.db.changes`."""
    cross_origin: list[re.Pattern[str]] = field(default_factory=list)
    robots: list[str] = field(default_factory=list)
    """Path prefixes that robots are asked not to visit."""
    demos: list[tuple[int, str, Callable[[Any], None] | str]] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    settings_prefixes: set[str] = field(default_factory=set)
