"""Cache of rendered page fragments: rendering them is most of the cost of a page.

A fragment is a separate template. It sees its values and its language, but no request, clock or database. The values
are also the cache key. So a cached fragment is never out of date, whichever process wrote the data, and access is
decided for each request by the code that reads the values.
"""

import sys
from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Final

import msgspec
from markupsafe import Markup
from pyramid.config import Configurator

from modhub.base.byte_cache import ByteCache
from modhub.content.limits import MB
from modhub.ui.formatting import Formatter
from modhub.ui.i18n import Translations

BUDGET: Final = 32 * MB
"""Approximate bytes of the cache of one application."""
MAX_SHARE: Final = 16
"""A fragment larger than the budget divided by this is not cached."""
_OVERHEAD: Final = 500
"""Bytes of an entry besides its values and text."""


def _size_of(value: Any) -> int:
    """Approximate bytes that a value keeps alive. A mapping counts as one object: many entries share it."""
    if isinstance(value, tuple | list):
        inside: Iterable[Any] = value
    elif isinstance(value, msgspec.Struct):
        inside = (getattr(value, name) for name in value.__struct_fields__)
    elif is_dataclass(value) and not isinstance(value, type):
        inside = (getattr(value, field.name) for field in fields(value))
    else:
        inside = ()
    return sys.getsizeof(value) + sum(map(_size_of, inside))


class FragmentCache:
    """Renders and caches fragments; one per application. ``find_template`` is asked by name, ``budget`` is in bytes."""

    def __init__(self, find_template: Callable[[str], Any], budget: int = BUDGET) -> None:
        self._find_template = find_template
        self.fragments: ByteCache[Markup] = ByteCache(budget, MAX_SHARE)

    def __call__(self, template: str, messages: Translations, **values: Hashable) -> Markup:
        """Return the fragment. Its template has ``values``, ``_``, ``ngettext`` and a :class:`Formatter` as ``ui``."""
        key: tuple[Hashable, ...] = (template, messages, *values.items())
        markup = self.fragments.find(key)
        if markup is None:
            markup = self.render(template, messages, **values)
            self.fragments.put(key, markup, _size_of(markup) + _size_of(key[2:]) + _OVERHEAD)
        return markup

    def render(self, template: str, messages: Translations, **values: Any) -> Markup:
        """Render without the cache, for values that hardly ever repeat."""
        tools = {"ui": Formatter(messages), "_": messages.gettext, "ngettext": messages.ngettext}
        markup = self._find_template(template).render({**tools, **values})
        return Markup(markup)  # noqa: S704 - our templates escape


def includeme(config: Configurator) -> None:
    """Add the service. Jinja's environment is complete only when the configuration is."""
    fragments = FragmentCache(lambda template: config.get_jinja2_environment().get_template(template))
    config.add_service(FragmentCache, fragments)
