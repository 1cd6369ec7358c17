"""What the included packages have declared with the directives of :mod:`modhub.directives`."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from modhub.blobs.store import BlobStoreFactory
from modhub.security.identity import CredentialKind
from modhub.settings import Setting


@dataclass(frozen=True, slots=True)
class StartOptions:
    """How this application is started: the packages that ``pyramid.includes`` names, in order."""

    includes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature that is switched on, with the prefix of its settings."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class Migrations:
    """The migrations of one package: a folder of alembic revisions, and the prefix of the tables that are its own."""

    package: str
    folder: str
    table_prefix: str

    @property
    def version_table(self) -> str:
        """One a package, so that taking a feature out breaks no later upgrade."""
        return f"{self.package}_alembic_version"


@dataclass(frozen=True, slots=True)
class Panel:
    """A named block in a place of the core's pages.

    ``render(context, request)`` gives ``Markup``, text (which is escaped) or None for nothing.
    """

    place: str
    name: str
    order: int
    render: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class AdminCommand:
    """A command of ``modhub-admin``: ``run(admin, arguments)`` answers the exit code.

    ``needs_schema``: it is run only when the database has the schema of this code.
    """

    name: str
    help: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Any, Namespace], int]
    needs_schema: bool = True


@dataclass(slots=True)
class Declarations:
    """The declarations of one application, filled while it is configured and only read afterwards."""

    features: list[Feature] = field(default_factory=list)
    children: dict[tuple[Any, str], Callable[[Any, str], Any]] = field(default_factory=dict)
    """The factory of each child, by the parent's interface and the child's name."""
    credentials: dict[tuple[CredentialKind, Any], Any] = field(default_factory=dict)
    """The :class:`modhub.interfaces.ICredential` of each kind and side (``IApi`` or ``ISite``)."""
    scopes: dict[str, str] = field(default_factory=dict)
    """What each scope of a machine key allows, by its name."""
    default_scopes: set[str] = field(default_factory=set)
    """The scopes of a machine key whose line names none."""
    commands: dict[str, AdminCommand] = field(default_factory=dict)
    health_checks: dict[str, Callable[[Any], str | None]] = field(default_factory=dict)
    maintenance: dict[str, Callable[[Any], Iterable[str]]] = field(default_factory=dict)
    blob_stores: dict[str, BlobStoreFactory] = field(default_factory=dict)
    """What opens a store, by the scheme of its URL."""
    migrations: list[Migrations] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    cross_origin: list[re.Pattern[str]] = field(default_factory=list)
    robots: list[str] = field(default_factory=list)
    """The paths below which robots are asked to leave everything alone."""
    demos: list[tuple[int, str, Callable[[Any], None]]] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    settings_prefixes: set[str] = field(default_factory=set)
