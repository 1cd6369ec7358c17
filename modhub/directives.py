"""The directives with which a feature plugs in (docs/writing-a-feature.md tells how).

Each goes through ``config.action`` with a discriminator, so that two features claiming one name raise a conflict that
names both lines.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from pyramid.config import Configurator
from pyramid.path import AssetResolver

from modhub.blobs.store import BlobStoreFactory
from modhub.declarations import AdminCommand, Declarations, Feature, Migrations, Panel, StartOptions
from modhub.security.identity import CredentialKind
from modhub.server.rules import BodyRules, IBodyRules
from modhub.service_registry import add_service, find_optional_service, find_service
from modhub.settings import Setting, StartRefused, read_settings


def _declared(config: Configurator) -> Declarations:
    return find_service(config.registry, Declarations)


def add_feature(config: Configurator, name: str, title: str, *, requires: tuple[str, ...] = ()) -> None:
    """Name the feature, its package's name as a rule: an unknown setting under ``name.`` stops the start.

    ``requires`` are the packages of features that this one builds on: one that ``pyramid.includes`` does not name
    before it stops the start with a sentence. ``Declarations.features`` tells what is there, for those who only want
    to know.
    """
    includes = find_service(config.registry, StartOptions).includes
    before = includes[: includes.index(name)] if name in includes else includes
    for needed in requires:
        if needed not in before:
            raise StartRefused(f"{name} needs {needed}: name it before {name} in pyramid.includes")
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
    help: str,  # noqa: A002 - the word of argparse and of settings
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


def add_migrations(config: Configurator, package: str, folder: str, table_prefix: str) -> None:
    """Bring the package's tables, named ``table_prefix...``, into ``modhub-admin migrate``.

    ``folder`` is an asset, such as ``modhub_reports:migrations``.
    """
    path = AssetResolver().resolve(folder).abspath()

    def register() -> None:
        _declared(config).migrations.append(Migrations(package, path, table_prefix))

    config.action(("modhub migrations", package), register)
    config.action(("modhub table prefix", table_prefix), None)


def add_panel(
    config: Configurator, place: str, name: str, render: Callable[[Any, Any], Any], *, order: int = 100
) -> None:
    """Show ``render(context, request)`` at ``place``: ``navigation``, ``notice`` (above every page), ``mod`` (a mod's
    page), ``workshop_script`` (where a mod's owner reads how a script does the same work), ``footer``.

    It returns ``Markup``; a plain string is text and is escaped. At ``documentation`` it is a section of
    ``/Modhub/doc`` (:mod:`modhub.ui.documentation`).
    """

    def register() -> None:
        _declared(config).panels.append(Panel(place, name, order, render))

    config.action(("modhub panel", place, name), register)


def add_health_check(config: Configurator, name: str, check: Callable[[Any], str | None]) -> None:
    """Ask ``check(registry)`` at ``/readyz``: None is well, a word such as ``not configured`` is named and well.

    A check that fails raises.
    """

    def register() -> None:
        _declared(config).health_checks[name] = check

    config.action(("modhub health check", name), register)


def add_maintenance(config: Configurator, name: str, verify: Callable[[Any], Iterable[str]]) -> None:
    """Let ``modhub-admin verify`` ask ``verify(session)`` for sentences about damage; none is well."""

    def register() -> None:
        _declared(config).maintenance[name] = verify

    config.action(("modhub maintenance", name), register)


def add_command(config: Configurator, command: AdminCommand) -> None:
    """Give ``modhub-admin`` a command."""

    def register() -> None:
        _declared(config).commands[command.name] = command

    config.action(("modhub command", command.name), register)


def add_demo(config: Configurator, name: str, fill: Callable[[Any], None], *, order: int = 100) -> None:
    """Let ``modhub-admin demo`` call ``fill(admin)``, the lowest ``order`` first."""

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
) -> None:
    """Tell the server how long a body at ``pattern`` may be, and the header without which it is not awaited.

    ``pattern`` is a path with ``{segment}`` and ``{rest...}``; ``limit`` is in bytes (C-ERR-20).
    ``waits``: answering may wait its turn (hashing), so the server gives it a thread apart from those that others need.
    """
    wanted = (methods,) if isinstance(methods, str) else methods

    def register() -> None:
        config.registry.getUtility(IBodyRules).add(wanted, pattern, limit, credential, waits=waits)

    config.action(("modhub body limit", wanted, pattern), register)


def add_blob_store(config: Configurator, scheme: str, factory: BlobStoreFactory) -> None:
    """Let ``modhub.storage = scheme://...`` keep files in the store that ``factory(url, settings, make=...)`` opens.

    It is opened when everything is included and all settings have been read.
    """
    scheme = scheme.lower()

    def register() -> None:
        _declared(config).blob_stores[scheme] = factory

    config.action(("modhub blob store", scheme), register)


def add_cross_origin(config: Configurator, pattern: str) -> None:
    """Let pages elsewhere read what stands outside of the API, without credentials (CORS): files, feeds.

    ``pattern`` is a regular expression for the whole path, without a slash at its end.
    """
    compiled = re.compile(pattern + "/?")
    config.action(("modhub cross origin", pattern), lambda: _declared(config).cross_origin.append(compiled))


def add_robots_rule(config: Configurator, path: str) -> None:
    """Ask robots to leave alone every address that begins with ``path`` (``Disallow`` in ``/robots.txt``, RFC 9309)."""
    config.action(("modhub robots rule", path), lambda: _declared(config).robots.append(path))


def declare_settings(config: Configurator, prefix: str, settings: Iterable[Setting]) -> None:
    """Declare and read a package's settings; afterwards ``registry.settings[name]`` holds values, not text.

    An unknown key under ``prefix`` stops the start. (``Configurator.add_settings`` is Pyramid's own and another thing.)
    """
    found = tuple(settings)
    _declared(config).settings.extend(found)
    _declared(config).settings_prefixes.add(prefix)
    read_settings(found, config.registry.settings)
    for setting in found:
        config.action(("modhub setting", setting.name), None)


def includeme(config: Configurator) -> None:
    """The places that the directives fill, then the directives."""
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
        add_health_check,
        add_maintenance,
        add_command,
        add_demo,
        add_body_limit,
        add_blob_store,
        add_cross_origin,
        add_robots_rule,
        declare_settings,
    ):
        config.add_directive(directive.__name__, directive)
