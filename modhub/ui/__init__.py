"""What all pages share: layout, template helpers, static files, languages, forms, and the views at the root.

A feature's page extends ``modhub:templates/layout.jinja2`` and fills the blocks ``title`` and ``content``. Templates
have ``ui`` (:class:`modhub.ui.template_helpers.PageHelpers`), ``_`` and ``ngettext``.
"""

from pyramid.config import Configurator
from pyramid.events import BeforeRender

from modhub.ui import (
    documentation,
    form_recovery,
    forms,
    i18n,
    preferences,
    root_views,
    security_txt,
    site_settings,
    sitemap,
    static_files,
    template_helpers,
)
from modhub.web.request import API_PREFIXES

__all__ = ["includeme"]


def includeme(config: Configurator) -> None:
    """Set up pages. Templates are strict: an undefined name is an error."""
    settings = config.registry.settings
    settings.setdefault("jinja2.undefined", "strict")
    settings.setdefault("jinja2.trim_blocks", "true")
    settings.setdefault("jinja2.lstrip_blocks", "true")
    config.include(static_files)
    config.include(i18n)
    config.include(forms)
    config.include(form_recovery)
    config.include(site_settings)
    config.include(security_txt)
    config.add_subscriber(template_helpers.add_renderer_globals, BeforeRender)
    config.add_translation_dirs("modhub:locale")
    config.include(documentation)
    for prefix in API_PREFIXES:
        config.add_robots_rule(prefix)
    for module in (preferences, root_views, sitemap):
        config.scan(module)
