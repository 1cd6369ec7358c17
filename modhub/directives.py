"""The directives with which a feature plugs in (see docs/writing-a-feature.md).

Each goes through ``config.action`` with a discriminator, so that two features claiming one name raise a conflict that
names both lines.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from pyramid.config import Configurator
from pyramid.path import AssetResolver

from modhub.blobs.naming import BlobNames
from modhub.blobs.store import BlobStoreFactory
from modhub.declarations import (
    API_SORTS,
    PANEL_PLACES,
    AdminCommand,
    Declarations,
    DoctorCheck,
    Feature,
    Migrations,
    PageOrder,
    Panel,
    StartOptions,
)
from modhub.limits import CHANGE_KIND
from modhub.metrics import COUNTER, GAUGE, Metric, Reading
from modhub.security.identity import CredentialKind
from modhub.server.rules import BodyRules, IBodyRules
from modhub.service_registry import add_service, find_optional_service, find_service
from modhub.settings import Setting, StartRefused, read_settings


def _declared(config: Configurator) -> Declarations:
    return find_service(config.registry, Declarations)


def add_feature(config: Configurator, name: str, title: str, *, requires: tuple[str, ...] = ()) -> None:
    """Declare a feature, usually by its package's name. Unknown settings under ``name.`` stop the start.

    ``requires`` are the packages of features that this one builds on; the start is refused with a sentence unless
    ``pyramid.includes`` names them earlier. To check for an optional feature, read ``Declarations.features``.
    """
    includes = find_service(config.registry, StartOptions).includes
    earlier_includes = includes[: includes.index(name)] if name in includes else includes
    for required in requires:
        if required not in earlier_includes:
            raise StartRefused(f"{name} needs {required}: name it before {name} in pyramid.includes")
    _declared(config).settings_prefixes.add(f"{name}.")
    config.action(("modhub feature", name), lambda: _declared(config).features.append(Feature(name, title)))


def add_child(config: Configurator, parent: Any, name: str, factory: Callable[[Any, str], Any]) -> None:
    """Mount ``factory(parent_resource, name)`` below every resource that provides ``parent``."""

    def register() -> None:
        _declared(config).children[parent, name] = factory

    config.action(("modhub child", parent, name), register)


def add_credential(config: Configurator, kind: CredentialKind, side: Any, credential: Any) -> None:
    """Recognise callers of ``kind`` on ``side`` (``IApi`` or ``ISite``) by an :class:`ICredential`."""

    def register() -> None:
        _declared(config).credentials[kind, side] = credential

    config.action(("modhub credential", kind, side), register)


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

    def register() -> None:
        _declared(config).scopes[name] = help
        if default:
            _declared(config).default_scopes.add(name)

    config.action(("modhub scope", name), register)


def add_migrations(
    config: Configurator, package: str, folder: str, table_prefix: str, *, copies: tuple[str, ...] = ()
) -> None:
    """Add the package's tables, named ``table_prefix...``, to ``modhub-admin migrate``.

    ``folder`` is an asset, such as ``modhub_reports:migrations``. ``copies`` are prefixes of tables that can be filled
    again from others: ``migrate --down`` may drop their content.
    """
    path = AssetResolver().resolve(folder).abspath()

    def register() -> None:
        _declared(config).migrations.append(Migrations(package, path, table_prefix, copies))

    config.action(("modhub migrations", package), register)
    config.action(("modhub table prefix", table_prefix), None)


def add_panel(
    config: Configurator, place: str, name: str, render: Callable[[Any, Any], Any], *, order: int = 100
) -> None:
    """Show ``render(context, request)`` at ``place``, one of `PANEL_PLACES` (docs/writing-a-feature.md).

    It returns ``Markup``; a plain string is text and is escaped. At ``documentation`` it is a section of
    ``/Modhub/doc`` (:mod:`modhub.ui.documentation`).
    """
    if place not in PANEL_PLACES:
        raise StartRefused(f"no page has a place {place} for the panel {name}; places are {', '.join(PANEL_PLACES)}")

    def register() -> None:
        _declared(config).panels.append(Panel(place, name, order, render))

    config.action(("modhub panel", place, name), register)


def add_page_order(config: Configurator, name: str, title: str, mod_id: Any, value: Any) -> None:
    """Offer an order of the mods on pages and in feeds (:class:`modhub.declarations.PageOrder`), as ``sort={name}``.

    ``title`` is a msgid. The API keeps its own orders: there the value is an unknown one. Each page reads the table,
    so it needs an index on (``value``, ``mod_id``).
    """
    if name in API_SORTS:
        raise StartRefused(f"lists have the order {name} already")
    order = PageOrder(name, title, mod_id, value)

    def register() -> None:
        _declared(config).page_orders[name] = order

    config.action(("modhub page order", name), register)


def add_health_check(config: Configurator, name: str, check: Callable[[Any], str | None]) -> None:
    """Call ``check(registry)`` for ``/readyz``; None means "ok", a string such as ``not configured`` is shown as is.

    A failing check raises.
    """

    def register() -> None:
        _declared(config).health_checks[name] = check

    config.action(("modhub health check", name), register)


def add_metric(
    config: Configurator,
    name: str,
    help: str,  # noqa: A002 - as in argparse and in settings
    read: Callable[[Any], Reading],
    *,
    kind: str = GAUGE,
    labels: tuple[str, ...] = (),
) -> None:
    """Let a feature that exports metrics call ``read(registry)`` (:class:`modhub.metrics.Metric`).

    ``name`` is without the prefix that all of them have. Several packages may add to one metric, each its own values
    of the labels; the first one's ``help`` is shown.
    """
    if name.endswith("_total") is not (kind == COUNTER):
        raise StartRefused(f"the metric {name}: a name ends in _total if, and only if, the metric is a counter")
    metric = Metric(name, help, read, kind, labels)
    config.action(("modhub metric", name, config.package_name), lambda: _declared(config).metrics.append(metric))


def add_doctor_check(
    config: Configurator, label: str, find_problems: Callable[[Any], Iterable[str]], *, order: int = 100
) -> None:
    """Let ``modhub-admin doctor`` call ``find_problems(admin)``, the lowest ``order`` first.

    It returns sentences, without their full stop, that say what is wrong and what to do; none if all is well. It runs
    in a thread and has five seconds.
    """

    def register() -> None:
        _declared(config).doctor_checks.append(DoctorCheck(label, order, find_problems))

    config.action(("modhub doctor check", label), register)


def add_maintenance(config: Configurator, name: str, verify: Callable[[Any], Iterable[str]]) -> None:
    """Let ``modhub-admin verify`` call ``verify(session)``, which returns one sentence per problem found."""

    def register() -> None:
        _declared(config).maintenance[name] = verify

    config.action(("modhub maintenance", name), register)


def add_blob_names(config: Configurator, name: str, describe: BlobNames) -> None:
    """Let ``describe(session, blob_ids)`` say what a feature's stored files are, by the ids of their rows.

    ``verify`` and other commands show it to the operator beside a file's key.
    """

    def register() -> None:
        _declared(config).blob_names[name] = describe

    config.action(("modhub blob names", name), register)


def add_command(config: Configurator, command: AdminCommand) -> None:
    """Add a command to ``modhub-admin``."""

    def register() -> None:
        _declared(config).commands[command.name] = command

    config.action(("modhub command", command.name), register)


def add_demo(config: Configurator, name: str, fill: Callable[[Any], None] | str, *, order: int = 100) -> None:
    """Let ``modhub-admin demo`` call ``fill(admin)``, the lowest ``order`` first.

    Given as a dotted name, it is imported by that command only.
    """

    def register() -> None:
        _declared(config).demos.append((order, name, fill))

    config.action(("modhub demo", name), register)


def add_body_limit(
    config: Configurator,
    methods: str | tuple[str, ...],
    pattern: str,
    limit: int,
    *,
    credential: str | None = None,
    waits: bool = False,
    stored: bool = False,
) -> None:
    """Limit the length of bodies at ``pattern``, and name the header without which the server does not read them.

    ``pattern`` is a path with ``{segment}`` and ``{rest...}``; ``limit`` is in bytes (C-ERR-20). ``waits``: the request
    may wait for its turn (hashing), so it gets a thread of a separate pool. ``stored``: the body is a file that the
    view stores as it is (:func:`modhub.blobs.uploads.receive_upload`), so it is spooled in the file store's folder.
    """
    method_names = (methods,) if isinstance(methods, str) else methods

    def register() -> None:
        rules = config.registry.getUtility(IBodyRules)
        rules.add(method_names, pattern, limit, credential, waits=waits, stored=stored)

    config.action(("modhub body limit", method_names, pattern), register)


def add_blob_store(config: Configurator, scheme: str, factory: BlobStoreFactory | str) -> None:
    """Let ``modhub.storage = scheme://...`` keep files in the store that ``factory(url, settings, make=...)`` opens.

    It is opened once everything is included and all settings have been read. A factory given by its dotted name is
    imported then, and only if ``modhub.storage`` has its scheme: it may need an optional library.
    """
    scheme = scheme.lower()

    def register() -> None:
        _declared(config).blob_stores[scheme] = factory

    config.action(("modhub blob store", scheme), register)


def add_change_kind(config: Configurator, kind: str) -> None:
    """Show changes of ``kind`` among those that everybody can follow (:func:`modhub.changes.mark_changed`)."""
    if len(kind) > CHANGE_KIND:
        raise StartRefused(f"the kind of changes {kind} has more than {CHANGE_KIND} characters")
    config.action(("modhub change kind", kind), lambda: _declared(config).change_kinds.add(kind))


def add_cross_origin(config: Configurator, pattern: str) -> None:
    """Let pages of other sites read addresses outside of the API without credentials (CORS): files, feeds.

    ``pattern`` is a regular expression for the whole path, without a trailing slash.
    """
    compiled = re.compile(pattern + "/?")
    config.action(("modhub cross origin", pattern), lambda: _declared(config).cross_origin.append(compiled))


def add_robots_rule(config: Configurator, path: str) -> None:
    """Ask robots not to visit any address that begins with ``path`` (``Disallow`` in ``/robots.txt``, RFC 9309)."""
    config.action(("modhub robots rule", path), lambda: _declared(config).robots.append(path))


def declare_settings(config: Configurator, prefix: str, settings: Iterable[Setting]) -> None:
    """Declare and read a package's settings; afterwards ``registry.settings[name]`` holds values, not text.

    An unknown key under ``prefix`` stops the start. (Not to be confused with Pyramid's ``Configurator.add_settings``.)
    """
    declared = tuple(settings)
    _declared(config).settings.extend(declared)
    _declared(config).settings_prefixes.add(prefix)
    read_settings(declared, config.registry.settings)
    for setting in declared:
        config.action(("modhub setting", setting.name), None)


def includeme(config: Configurator) -> None:
    """Register the services that the directives fill, then the directives."""
    config.add_directive("add_service", add_service)
    if find_optional_service(config.registry, StartOptions) is None:
        config.add_service(StartOptions, StartOptions())
    config.add_service(Declarations, Declarations())
    config.registry.registerUtility(BodyRules(), IBodyRules)
    for directive in (
        add_feature,
        add_child,
        add_credential,
        add_scope,
        add_migrations,
        add_panel,
        add_page_order,
        add_health_check,
        add_doctor_check,
        add_maintenance,
        add_metric,
        add_blob_names,
        add_command,
        add_demo,
        add_body_limit,
        add_blob_store,
        add_change_kind,
        add_cross_origin,
        add_robots_rule,
        declare_settings,
    ):
        config.add_directive(directive.__name__, directive)
