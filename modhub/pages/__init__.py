"""What every page has in common: layout and its tools, static files, languages, forms, and the addresses at the root.

A feature's page extends ``modhub:templates/layout.jinja2`` and fills the blocks ``title`` and ``content``. Every
template has ``ui`` (:class:`modhub.pages.tools.Tools`), ``_`` and ``ngettext``.
"""

from pyramid.config import Configurator
from pyramid.events import BeforeRender

from modhub.pages import documentation, forms, keeping, messages, pieces, sitemap, statics, tools

__all__ = ["includeme"]


def includeme(config: Configurator) -> None:
    """Templates are strict: a name that is not there is an error, not a hole in the page."""
    settings = config.registry.settings
    settings.setdefault("jinja2.undefined", "strict")
    settings.setdefault("jinja2.trim_blocks", "true")
    settings.setdefault("jinja2.lstrip_blocks", "true")
    config.include(statics)
    config.include(messages)
    config.include(forms)
    config.include(keeping)
    config.include(pieces)
    config.include(sitemap)
    config.add_subscriber(tools.equip, BeforeRender)
    config.add_messages("modhub:messages")
    config.add_static("modhub:static")
    config.include(documentation)
    config.scan("modhub.pages.site")
