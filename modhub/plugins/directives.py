"""The directives with which a feature plugs in (docs/writing-a-feature.md).

Each goes through ``config.action`` with a discriminator, so that two features claiming one name raise a conflict that
names both lines.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from pyramid.config import Configurator

from modhub.base.body_rules import BodyRules
from modhub.base.identity import CredentialKind
from modhub.base.operations import Refusal
from modhub.base.service_registry import find_service
from modhub.base.settings import Setting, StartRefused, read_settings
from modhub.blobs.naming import BlobNames
from modhub.blobs.store import BlobStoreFactory
from modhub.content.limits import CHANGE_KIND
from modhub.plugins.commands import AdminCommand
from modhub.plugins.declarations import (
    API_SORTS,
    LIST_PARAMETERS,
    PANEL_PLACES,
    AccountData,
    Declarations,
    DeclaredCheck,
    Feature,
    Migrations,
    ModColumn,
    ModDetail,
    Moment,
    Panel,
    RemovablePart,
    SitemapEntries,
    SitemapSource,
    Worker,
)

_PARAMETER: Final = re.compile("[a-z]{1,20}")
"""Also a part of the name of a statement's parameter."""


def find_declarations(config: Configurator) -> Declarations:
    """The declarations that the directives add to."""
    return find_service(config.registry, Declarations)


def _declare(config: Configurator, kind: str, table: dict[Any, Any], key: Any, value: Any) -> None:
    """Add an entry to a table of declarations; two of one kind with one key are a conflict."""
    config.action((f"modhub {kind}", key), lambda: table.update({key: value}))


def add_feature(
    config: Configurator,
    name: str,
    title: str,
    *,
    requires: tuple[str, ...] = (),
    settings: Iterable[Setting] = (),
    migrations: str = "",
    change_kinds: tuple[str, ...] = (),
    demo: Callable[[Any], None] | str = "",
) -> None:
    """Declare a feature by the name of its package, whose folders ``locale`` and ``static`` are used if they are there.

    ``title`` is a msgid; the calls of the feature stand below it at ``/Modhub/doc``.
    ``requires``: packages of features that this one builds on; the start is refused with a sentence unless
    ``pyramid.includes`` names them earlier. To check for an optional one, read ``Declarations.features``.
    ``settings`` are read: from now on ``registry.settings[name]`` has values, not text. An unknown one under ``name.``
    stops the start. ``migrations``: the prefix of the tables that the folder ``migrations`` makes. ``change_kinds``:
    of :func:`modhub.db.changes.mark_changed`, those that everybody can follow. ``demo(admin)`` fills a new
    installation with samples; given by its dotted name, it is imported by ``modhub-admin demo`` only.
    """
    declared = find_declarations(config)
    includes = declared.includes
    earlier_includes = includes[: includes.index(name)] if name in includes else includes
    for required in requires:
        if required not in earlier_includes:
            raise StartRefused(f"{name} needs {required}: name it before {name} in pyramid.includes")
    declared.settings_prefixes.add(f"{name}.")
    declare_settings(config, settings)
    if migrations:
        declare_migrations(config, name, migrations)
    if _find_folder(name, "locale"):
        config.add_translation_dirs(f"{name}:locale")
    for kind in change_kinds:
        if len(kind) > CHANGE_KIND:
            raise StartRefused(f"the kind of changes {kind} has more than {CHANGE_KIND} characters")
        config.action(("modhub change kind", kind), partial(declared.change_kinds.add, kind))

    def register() -> None:
        declared.features.append(Feature(name, title))
        if static := _find_folder(name, "static"):
            declared.static_folders[name] = static
        if demo:
            declared.demos.append((title, demo))

    config.action(("modhub feature", name), register)


def declare_settings(config: Configurator, settings: Iterable[Setting]) -> None:
    """Declare and read settings; an unknown key with the prefix of one of them stops the start."""
    declared = tuple(settings)
    find_declarations(config).settings.extend(declared)
    find_declarations(config).settings_prefixes.update(
        setting.name[: setting.name.index(".") + 1] for setting in declared if "." in setting.name
    )
    read_settings(declared, config.registry.settings)
    for setting in declared:
        config.action(("modhub setting", setting.name), None)


def declare_migrations(config: Configurator, package: str, table_prefix: str) -> None:
    """Let ``modhub-admin migrate`` make the package's tables, named ``table_prefix...``."""
    folder = _find_folder(package, "migrations")
    if folder is None:
        raise StartRefused(f"{package} declares migrations, but has no folder of that name")
    migrations = Migrations(package, str(folder), table_prefix)
    config.action(("modhub migrations", package), partial(find_declarations(config).migrations.append, migrations))
    config.action(("modhub table prefix", table_prefix), None)


def _find_folder(package: str, name: str) -> Path | None:
    """A folder of an imported package, None if it has no such folder: a feature may be a single module."""
    folders = (Path(place, name) for place in getattr(sys.modules.get(package), "__path__", ()))
    return next((folder for folder in folders if folder.is_dir()), None)


def add_child(config: Configurator, parent: Any, name: str, factory: Callable[[Any, str], Any]) -> None:
    """Mount ``factory(parent_resource, name)`` below every resource that provides ``parent``."""
    _declare(config, "child", find_declarations(config).children, (parent, name), factory)


def add_credential(config: Configurator, kind: CredentialKind, side: Any, credential: Any) -> None:
    """Recognise callers of ``kind`` on ``side`` (``IApi`` or ``ISite``) by an :class:`ICredential`."""
    _declare(config, "credential", find_declarations(config).credentials, (kind, side), credential)


def add_scope(
    config: Configurator,
    name: str,
    help: str,  # noqa: A002 - as in argparse and in settings
    *,
    default: bool = False,
) -> None:
    """Name a scope that a machine key may be granted; ``modhub-admin key new`` lists them.

    ``default``: a key whose line in ``ApiPrivateKeys`` names no scope has this one (C-KEY-1).
    """
    _declare(config, "scope", find_declarations(config).scopes, name, help)
    if default:
        config.action(("modhub default scope", name), partial(find_declarations(config).default_scopes.add, name))


def _discard_nothing(_session: Any, _target_id: int, _key: str, _kept: Mapping[str, Any]) -> None:
    """For parts of which everything is in what moderation keeps."""


def add_removable_part(
    config: Configurator,
    name: str,
    title: str,
    remove: Callable[[Any, int, str], dict[str, Any] | None],
    restore: Callable[[Any, int, str, Mapping[str, Any]], bool],
    *,
    discard: Callable[[Any, int, str, Mapping[str, Any]], None] = _discard_nothing,
    target: str = "mod",
) -> None:
    """Let moderators take a part of a mod, or of what an author shows, out and put it back.

    The functions are those of `RemovablePart`; ``title`` is a msgid. ``target`` is ``mod``
    or ``account``: what the number that they get is. ``discard`` is needed for parts with files.
    """
    if target not in {"mod", "account"}:
        raise StartRefused(f"the part {name} belongs to a mod or an account, not to a {target}")
    part = RemovablePart(name, title, target, remove, restore, discard)
    _declare(config, "removable part", find_declarations(config).removable_parts, name, part)


def add_personal_data(config: Configurator, name: str, collect: Callable[[Any, int], AccountData | None]) -> None:
    """Give a person what ``collect(session, account_id)`` returns of their account, as ``{name}.json`` and files.

    Not what others wrote, and no secrets. None if there is nothing.
    """
    _declare(config, "personal data", find_declarations(config).personal_data, name, collect)


def add_blob_store(config: Configurator, scheme: str, factory: BlobStoreFactory | str) -> None:
    """Let ``modhub.storage = scheme://...`` keep files in the store that ``factory(url, settings, make=...)`` opens.

    It is opened once everything is included and all settings have been read. A factory given by its dotted name is
    imported then, and only if ``modhub.storage`` has its scheme: it may need an optional library.
    """
    scheme = scheme.lower()
    _declare(config, "blob store", find_declarations(config).blob_stores, scheme, factory)


def add_panel(
    config: Configurator,
    place: str,
    name: str,
    render: Callable[..., Any],
    *,
    order: int = 100,
    fields: tuple[str, ...] = (),
) -> None:
    """Show ``render(context, request)`` at ``place``, one of `PANEL_PLACES` (docs/writing-a-feature.md).

    It returns ``Markup``; a plain string is text and is escaped. ``fields`` are those that it adds to a form.
    """
    if place not in PANEL_PLACES:
        raise StartRefused(f"no page has a place {place} for the panel {name}; places are {', '.join(PANEL_PLACES)}")
    panel = Panel(place, name, order, render, fields)
    config.action(("modhub panel", place, name), partial(find_declarations(config).panels.append, panel))


def add_mod_column(
    config: Configurator,
    name: str,
    *,
    mod_id: Any,
    value: Any,
    order: str = "",
    row: bool = False,
    figure: tuple[str, ...] = (),
    filter: tuple[str, ...] = (),  # noqa: A002 - what it is called in addresses and on pages
    labels: Callable[[Any], Mapping[str, str]] | None = None,
    off_front: Any = None,
) -> None:
    """Let pages and feeds order, filter or count mods by a column of yours: a `ModColumn`, which says what is what.

    The API has no such orders and filters. Pages read the table often, so it needs an index on ``mod_id``; with an
    ``order`` one on (``value``, ``mod_id``); with a ``filter`` both, of (``mod_id``, ``value``).
    """
    if name in API_SORTS | LIST_PARAMETERS or not _PARAMETER.fullmatch(name):
        raise StartRefused(f"a column of mods cannot be called {name}: lists have that, or it is not a to z")
    if row and not order:
        raise StartRefused(f"the column {name} has a row of the front, but no order")
    if bool(filter) != (labels is not None):
        raise StartRefused(f"the column {name} needs both the titles of its filter and its labels")
    column = ModColumn(name, mod_id, value, order, row, figure, filter, labels, off_front)
    _declare(config, "mod column", find_declarations(config).mod_columns, name, column)


def add_mod_detail(config: Configurator, field: str, read: ModDetail) -> None:
    """Answer a field of each mod in ``POST /api/modhub/details``.

    ``read(session, ids)`` is called once for all published mods that are asked for, and has a value for each of them:
    what JSON can say. Its number of statements does not depend on theirs.
    """
    _declare(config, "mod detail", find_declarations(config).mod_details, field, read)


def add_body_limit(
    config: Configurator,
    methods: str | tuple[str, ...],
    pattern: str,
    limit: int,
    *,
    credential: str | None = None,
    waits: bool = False,
) -> None:
    """Limit the length of bodies at ``pattern``, and name the header without which the server does not read them.

    ``pattern`` is a path with ``{segment}`` and ``{rest...}``; ``limit`` is in bytes (C-ERR-20). ``waits``: the request
    may wait for its turn or for another program (hashing, scanning), so it gets a thread of a separate pool.
    """
    method_names = (methods,) if isinstance(methods, str) else methods
    rules = find_service(config.registry, BodyRules)
    add = partial(rules.add, method_names, pattern, limit, credential, waits=waits)
    config.action(("modhub body limit", method_names, pattern), add)


def add_cross_origin(config: Configurator, pattern: str) -> None:
    """Let pages of other sites read addresses outside of the API without credentials (CORS): files, feeds.

    ``pattern`` is a regular expression for the whole path, without a trailing slash.
    """
    compiled = re.compile(pattern + "/?")
    config.action(("modhub cross origin", pattern), partial(find_declarations(config).cross_origin.append, compiled))


def add_robots_rule(config: Configurator, path: str) -> None:
    """Ask robots not to visit any address that begins with ``path`` (``Disallow`` in ``/robots.txt``, RFC 9309).

    ``*`` in it stands for any characters.
    """
    config.action(("modhub robots rule", path), partial(find_declarations(config).robots.append, path))


def add_sitemap(
    config: Configurator,
    name: str,
    addresses: Callable[[Any, int], SitemapEntries],
    parts: Callable[[Any], int] = lambda _registry: 1,
) -> None:
    """Add public addresses to ``/sitemap.xml``.

    ``parts(registry)`` returns the number of parts. ``addresses(registry, part)`` returns those of one part, counted
    from 0: about `modhub.ui.sitemap.PART` pairs of the percent-encoded path and the time of the last change, or None.
    Everybody can read them, so it must read public data only.
    """
    _declare(config, "sitemap", find_declarations(config).sitemaps, name, SitemapSource(addresses, parts))


def add_check(
    config: Configurator,
    name: str,
    run: Callable[[Any, Any], Iterable[str]],
    when: tuple[Moment, ...] = ("ready", "doctor", "verify"),
    *,
    seconds: float = 5.0,
) -> None:
    """Let ``run(registry, session)`` look whether something is well: a sentence for each problem, none if all is well.

    ``session`` only reads, and connects at its first statement. ``when`` it runs: ``ready`` for ``/readyz``, so it must
    be fast; ``doctor`` for ``modhub-admin doctor``, which waits for ``seconds``, and whose sentences have no full stop
    and say what to do; ``verify`` for ``modhub-admin verify``, which may read all rows: those of ``session``, which may
    be a backup. For the first two an exception is a problem too.
    """
    _declare(config, "check", find_declarations(config).checks, name, DeclaredCheck(name, run, when, seconds))


def add_worker(
    config: Configurator,
    name: str,
    run: Callable[[Any], object],
    every: float = 60,
    *,
    long: bool = False,
    alone: bool = False,
    at_stop: bool = False,
) -> None:
    """Let each process that serves call ``run(registry)`` in one of three threads, ``every`` seconds after the last.

    ``run`` opens its own transactions, short ones. A failure is logged once, as ``{name} wait: …``, and counted; the
    next round is the next try. A round that may take longer than some seconds is declared ``long``: it leaves a thread
    to others, and calls `raise_if_stopping` now and then. With ``alone`` only the process that holds the lease ``name``
    runs it, and if another one has taken the lease in the meantime, its transactions are rolled back. With ``at_stop``
    there is a last round when the process stops.
    """
    worker = Worker(name, run, every, long, alone, at_stop)
    config.action(("modhub worker", name), partial(find_declarations(config).workers.append, worker))


def add_blob_names(config: Configurator, name: str, describe: BlobNames) -> None:
    """Let ``describe(session, blob_ids)`` say what a feature's stored files are, by the ids of their rows.

    ``verify`` and other commands show it to the operator beside a file's key.
    """
    _declare(config, "blob names", find_declarations(config).blob_names, name, describe)


def add_command(config: Configurator, command: AdminCommand) -> None:
    """Add a command to ``modhub-admin``."""
    _declare(config, "command", find_declarations(config).commands, command.name, command)


def add_refusals(config: Configurator, operation_id: str, *refusals: Refusal) -> None:
    """Describe errors that this package adds to a call of another one, by its id in the API's description."""

    def register() -> None:
        declared = find_declarations(config).refusals
        declared[operation_id] = (*declared.get(operation_id, ()), *refusals)

    config.action(("modhub refusals", operation_id, config.package_name), register)


DIRECTIVES: Final = (
    add_feature,
    add_child,
    add_credential,
    add_scope,
    add_panel,
    add_mod_column,
    add_mod_detail,
    add_check,
    add_blob_names,
    add_command,
    add_worker,
    add_body_limit,
    add_blob_store,
    add_refusals,
    add_personal_data,
    add_removable_part,
    add_cross_origin,
    add_robots_rule,
    add_sitemap,
)
