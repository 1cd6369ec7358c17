"""What a feature is, what it adds to the tree, who may call it, and where its rows and files are."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyramid.config import Configurator
from pyramid.path import AssetResolver

from modhub.base.identity import CredentialKind
from modhub.base.service_registry import find_service
from modhub.base.settings import Setting, StartRefused, read_settings
from modhub.blobs.store import BlobStoreFactory
from modhub.content.limits import CHANGE_KIND
from modhub.plugins.declarations import (
    AccountData,
    Declarations,
    Feature,
    Migrations,
    RemovablePart,
    StartOptions,
)


def find_declarations(config: Configurator) -> Declarations:
    """The declarations that the directives add to."""
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
    find_declarations(config).settings_prefixes.add(f"{name}.")
    config.action(("modhub feature", name), lambda: find_declarations(config).features.append(Feature(name, title)))


def declare_settings(config: Configurator, prefix: str, settings: Iterable[Setting]) -> None:
    """Declare and read a package's settings; afterwards ``registry.settings[name]`` holds values, not text.

    An unknown key under ``prefix`` stops the start. (Not to be confused with Pyramid's ``Configurator.add_settings``.)
    """
    declared = tuple(settings)
    find_declarations(config).settings.extend(declared)
    find_declarations(config).settings_prefixes.add(prefix)
    read_settings(declared, config.registry.settings)
    for setting in declared:
        config.action(("modhub setting", setting.name), None)


def add_child(config: Configurator, parent: Any, name: str, factory: Callable[[Any, str], Any]) -> None:
    """Mount ``factory(parent_resource, name)`` below every resource that provides ``parent``."""

    def register() -> None:
        find_declarations(config).children[parent, name] = factory

    config.action(("modhub child", parent, name), register)


def add_credential(config: Configurator, kind: CredentialKind, side: Any, credential: Any) -> None:
    """Recognise callers of ``kind`` on ``side`` (``IApi`` or ``ISite``) by an :class:`ICredential`."""

    def register() -> None:
        find_declarations(config).credentials[kind, side] = credential

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
        find_declarations(config).scopes[name] = help
        if default:
            find_declarations(config).default_scopes.add(name)

    config.action(("modhub scope", name), register)


def add_migrations(config: Configurator, package: str, folder: str, table_prefix: str) -> None:
    """Add the package's tables, named ``table_prefix...``, to ``modhub-admin migrate``.

    ``folder`` is an asset, such as ``modhub_bookmarks:migrations``.
    """
    path = AssetResolver().resolve(folder).abspath()

    def register() -> None:
        find_declarations(config).migrations.append(Migrations(package, path, table_prefix))

    config.action(("modhub migrations", package), register)
    config.action(("modhub table prefix", table_prefix), None)


def add_change_kind(config: Configurator, kind: str) -> None:
    """Show changes of ``kind`` among those that everybody can follow (:func:`modhub.db.changes.mark_changed`)."""
    if len(kind) > CHANGE_KIND:
        raise StartRefused(f"the kind of changes {kind} has more than {CHANGE_KIND} characters")
    config.action(("modhub change kind", kind), lambda: find_declarations(config).change_kinds.add(kind))


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

    def register() -> None:
        find_declarations(config).removable_parts[name] = part

    config.action(("modhub removable part", name), register)


def add_personal_data(config: Configurator, name: str, collect: Callable[[Any, int], AccountData | None]) -> None:
    """Give a person what ``collect(session, account_id)`` returns of their account, as ``{name}.json`` and files.

    Not what others wrote, and no secrets. None if there is nothing.
    """

    def register() -> None:
        find_declarations(config).personal_data[name] = collect

    config.action(("modhub personal data", name), register)


def add_blob_store(config: Configurator, scheme: str, factory: BlobStoreFactory | str) -> None:
    """Let ``modhub.storage = scheme://...`` keep files in the store that ``factory(url, settings, make=...)`` opens.

    It is opened once everything is included and all settings have been read. A factory given by its dotted name is
    imported then, and only if ``modhub.storage`` has its scheme: it may need an optional library.
    """
    scheme = scheme.lower()

    def register() -> None:
        find_declarations(config).blob_stores[scheme] = factory

    config.action(("modhub blob store", scheme), register)
