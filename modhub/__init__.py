"""modhub: the core of the mod distribution service and its catalogue.

``main`` is the application that ``[app:main] use = egg:modhub`` names; ``includeme`` includes the core in order.
Features are packages named in ``pyramid.includes``; they are included after the core, because they use its directives.
"""

import logging
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

# ruff: noqa: E402 - Pyramid 2.1 imports it below, and operators could do nothing about its warning.
warnings.filterwarnings("ignore", "pkg_resources is deprecated", UserWarning)

from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError
from pyramid.settings import aslist
from pyramid.tweens import EXCVIEW
from pyramid_retry import BeforeRetry
from sqlalchemy.orm import Session

from modhub.admin import program
from modhub.admin.restored import refuse_unusable
from modhub.admin.start_checks import start_warnings
from modhub.admin.storage import open_store
from modhub.audit.recording import log_committed
from modhub.base.identity import CorePermission, CredentialKind
from modhub.base.service_registry import add_service, find_service
from modhub.base.settings import CORE, StartRefused, is_loopback, refuse_unknown, variable
from modhub.base.struct_types import prepare_structs
from modhub.blobs import BlobStore, open_local_store
from modhub.catalogue.copies import mark_touched, rewrite_touched
from modhub.db import DatabaseLimits, Databases
from modhub.db.changes import write_changes
from modhub.db.unit_of_work import CommitSteps
from modhub.plugins.declarations import Declarations
from modhub.plugins.directives import declare_migrations, declare_settings
from modhub.plugins.events import ApplicationStarted
from modhub.plugins.leases import check_lease
from modhub.plugins.resources import IApi, IRoot, ISite
from modhub.plugins.security import SecurityPolicy, address_credential, machine_credential
from modhub.ui.site_settings import SITE
from modhub.web.request import Request
from modhub.web.traversal import ApiResource, SiteResource, root_factory

__all__ = ["admin_main", "configure", "includeme", "main"]
log = logging.getLogger(__name__)
DEVELOPMENT_SECRET = "development-only-secret-never-for-production"  # noqa: S105 - refused beside a public base_url
COMMIT_STEPS = CommitSteps(
    after_flush=(mark_touched,),
    # Rewritten copies are changes; the serial comes last, because all writers wait for its row.
    before_commit=(check_lease, Session.flush, rewrite_touched, write_changes),
    after_commit=(log_committed,),
)
"""All that is done when a write session commits."""


def main(global_config: Mapping[str, Any] | None = None, **settings: Any) -> Any:
    """The WSGI application. Problems that the operator must fix end the process with one line."""
    ini = (global_config or {}).get("__file__", "YOUR.ini")
    try:
        config = configure(settings)
        packages = find_service(config.registry, Declarations).migrations
        refuse_unusable(find_service(config.registry, Databases), packages, ini)
    except StartRefused as error:
        sys.exit(f"modhub does not start: {error}.")
    for warning in start_warnings(config.registry):
        log.warning("%s.", warning)
    app = config.make_wsgi_app()
    config.registry.notify(ApplicationStarted(config.registry))
    return app


def admin_main(arguments: Sequence[str] | None = None) -> int:
    """The console script ``modhub-admin``; ``arguments`` are those of the command line. Returns the exit code."""
    return program.main(configure, arguments)


def configure(settings: Mapping[str, Any], *, makes_store: bool = True, limits_statements: bool = True) -> Configurator:
    """The committed configuration, for ``main`` and for commands; serves nothing and does not query the database.

    ``makes_store``: create the file store's folder if it is missing. ``limits_statements``: statements of the database
    have a time limit, unlike those of commands.

    Raises :class:`modhub.base.settings.StartRefused` with one sentence for the operator.
    """
    ini_settings = dict(settings)
    features = aslist(os.environ.get(variable("pyramid.includes"), ini_settings.pop("pyramid.includes", "")))
    config = Configurator(settings=ini_settings, root_factory=root_factory, request_factory=Request)
    declared = Declarations(tuple(features), tuple(ini_settings), limits_statements)
    add_service(config, Declarations, declared)
    config.include("modhub")
    for feature in features:
        _include(config, feature)
    refuse_unknown(declared.settings, declared.settings_prefixes, config.registry.settings)
    config.commit()
    prepare_structs()
    # Last: a feature may provide the scheme and the settings of the store.
    store = open_store(config.registry, make=makes_store)
    if store is not None:
        add_service(config, BlobStore, store)
        config.commit()
    return config


def _include(config: Configurator, feature: str) -> None:
    """Include a feature that the ini names; mistakes of the operator become one sentence."""
    if "," in feature:
        raise StartRefused("pyramid.includes separates features by spaces or line breaks, not by commas")
    if find_service(config.registry, Declarations).includes.count(feature) > 1:
        raise StartRefused(f"pyramid.includes names {feature} twice")
    try:
        config.include(feature)
    except ModuleNotFoundError as error:
        if error.name == feature.partition(".")[0]:
            raise StartRefused(f"pyramid.includes names {feature}, which is not installed") from None
        raise StartRefused(f"{feature} needs the Python module {error.name}, which is not installed") from None
    except ConfigurationError as error:
        raise StartRefused(f"pyramid.includes names {feature}, which is not a feature: {error}") from None


def _only_writes(request: Request) -> bool:
    return not request.is_safe


def _rewind(event: BeforeRetry) -> None:
    """Rewind the body for the next attempt."""
    event.request.make_body_seekable()


def _read_core_settings(config: Configurator) -> None:
    settings = config.registry.settings
    declare_settings(config, (*CORE, *SITE))
    secrets = settings["modhub.secret"]
    if DEVELOPMENT_SECRET in secrets and not is_loopback(settings["modhub.base_url"]):
        raise StartRefused(
            "the setting modhub.secret is the one of development.ini, which only works with a loopback base_url"
        )
    settings.update(
        {
            "tm.activate_hook": _only_writes,
            "tm.annotate_user": False,
        }
    )


def _recognize_machine_keys(config: Configurator, side: Any) -> None:
    """Call ``add_credential`` after the features, which declare the default scopes of machine keys."""

    def register() -> None:
        declared = find_service(config.registry, Declarations)
        settings = config.registry.settings
        credential = machine_credential(
            settings["ApiPrivateKeys"], declared.default_scopes, settings["modhub.secret"][0]
        )
        declared.credentials[CredentialKind.MACHINE, side] = credential

    config.action(("modhub credential", (CredentialKind.MACHINE, side)), register, order=1_000)


def _register_core_services(config: Configurator) -> None:
    registry = config.registry
    settings = registry.settings
    declared = find_service(registry, Declarations)
    limits = DatabaseLimits.from_settings(settings, limits_statements=declared.limits_statements)
    databases = Databases(settings["sqlalchemy.url"], limits, registry, COMMIT_STEPS)
    config.add_service(Databases, databases)
    config.add_blob_store("file", open_local_store)
    config.add_blob_store("s3", "modhub.blobs.s3.open_s3_store")
    policy = SecurityPolicy(declared.credentials)
    config.add_service(SecurityPolicy, policy)
    config.set_security_policy(policy)
    config.set_default_permission(CorePermission.CLOSED)
    for side in (IApi, ISite):
        config.add_credential(CredentialKind.ADDRESS, side, address_credential(settings["modhub.storage_address_key"]))
        _recognize_machine_keys(config, side)
    config.add_child(IRoot, "api", ApiResource)
    config.add_child(IRoot, "Modhub", SiteResource)
    declare_migrations(config, "modhub", "core_")


def includeme(config: Configurator) -> None:
    """Include the core in order: directives, settings, services, then the modules that use them; scans last."""
    config.include("modhub.plugins")
    _read_core_settings(config)
    # Not through its includeme: the request has its own property ``tm``, since a reified one costs a class per request.
    config.add_tween("pyramid_tm.tm_tween_factory", over=EXCVIEW)
    config.include("modhub.web.execution")
    config.add_subscriber(_rewind, BeforeRetry)
    config.include("pyramid_jinja2")
    _register_core_services(config)
    config.include("modhub.web.traversal")
    config.include("modhub.web.views")
    config.include("modhub.web.error_views")
    config.include("modhub.ui")
    config.include("modhub.web.tweens")
    config.include("modhub.admin.health")
    config.include("modhub.plugins.workers")
    config.include("modhub.audit")
    config.include("modhub.catalogue")
    config.include("modhub.web.public_reads")
    config.include("modhub.web.openapi")
    config.include("modhub.storage_address")
    config.include("modhub.admin.program")
    config.include("modhub.admin.timelines")
    config.scan("modhub.admin.health")
