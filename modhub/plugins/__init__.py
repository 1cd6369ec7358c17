"""The directives with which a feature plugs in (see docs/writing-a-feature.md).

Each goes through ``config.action`` with a discriminator, so that two features claiming one name raise a conflict that
names both lines.
"""

from pyramid.config import Configurator

from modhub.base.body_rules import BodyRules, IBodyRules
from modhub.base.service_registry import add_service, find_optional_service
from modhub.plugins.declarations import Declarations, StartOptions
from modhub.plugins.features import (
    add_blob_store,
    add_change_kind,
    add_child,
    add_credential,
    add_feature,
    add_migrations,
    add_personal_data,
    add_removable_part,
    add_scope,
    declare_settings,
)
from modhub.plugins.operation import (
    add_blob_names,
    add_command,
    add_demo,
    add_doctor_check,
    add_health_check,
    add_maintenance,
    add_worker,
)
from modhub.plugins.owners import add_publish_check, add_refusals, add_upload_inspector
from modhub.plugins.pages import (
    add_body_limit,
    add_card_figure,
    add_cross_origin,
    add_front_exclusion,
    add_image_link,
    add_page_filter,
    add_page_order,
    add_panel,
    add_robots_rule,
)


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
        add_page_filter,
        add_front_exclusion,
        add_card_figure,
        add_image_link,
        add_health_check,
        add_doctor_check,
        add_maintenance,
        add_blob_names,
        add_command,
        add_demo,
        add_worker,
        add_body_limit,
        add_blob_store,
        add_upload_inspector,
        add_publish_check,
        add_refusals,
        add_change_kind,
        add_personal_data,
        add_removable_part,
        add_cross_origin,
        add_robots_rule,
        declare_settings,
    ):
        config.add_directive(directive.__name__, directive)
