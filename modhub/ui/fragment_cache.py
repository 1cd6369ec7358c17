"""Cache of rendered page fragments: rendering them is most of the cost of a page.

A fragment is a separate template. It sees its values and its language, but no request, clock or database. The values
are also the cache key. So a cached fragment is never out of date, whichever process wrote the data, and access is
decided for each request by the code that reads the values.
"""

import sys
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any, Final

import msgspec
from markupsafe import Markup
from pyramid.config import Configurator

from modhub.limits import MB
from modhub.metrics import COUNTER, LabelValues
from modhub.service_registry import find_service
from modhub.ui.formatting import Formatter
from modhub.ui.i18n import Translations

BUDGET: Final = 32 * MB
"""Approximate bytes of the cache of one application; the least recently used fragment is evicted first."""
MAX_SHARE: Final = 16
"""A fragment larger than the budget divided by this is not cached: it would evict all others."""
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
    """Renders and caches fragments; one per application. ``environment`` is Jinja's, ``budget`` is in bytes."""

    def __init__(self, environment: Any, budget: int = BUDGET) -> None:
        self._environment = environment
        self._free = budget
        self._max_entry = budget // MAX_SHARE
        self._entries: OrderedDict[Hashable, tuple[Markup, int]] = OrderedDict()
        self._lock = Lock()
        self._budget = budget
        self.hits = self.misses = 0

    def __call__(self, template: str, messages: Translations, **values: Hashable) -> Markup:
        """Return the fragment. Its template has ``values``, ``_``, ``ngettext`` and a :class:`Formatter` as ``ui``."""
        key: tuple[Hashable, ...] = (template, messages, *values.items())
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                self.hits += 1
                return entry[0]
            self.misses += 1
        markup = self.render(template, messages, **values)
        self._store(key, markup)
        return markup

    @property
    def used(self) -> int:
        """Approximate bytes of all entries."""
        return self._budget - self._free

    def render(self, template: str, messages: Translations, **values: Any) -> Markup:
        """Render without the cache, for values that hardly ever repeat."""
        tools = {"ui": Formatter(messages), "_": messages.gettext, "ngettext": messages.ngettext}
        markup = self._environment.get_template(template).render({**tools, **values})
        return Markup(markup)  # noqa: S704 - our templates escape

    def _store(self, key: tuple[Hashable, ...], markup: Markup) -> None:
        size = _size_of(markup) + _size_of(key[2:]) + _OVERHEAD
        if size > self._max_entry:
            return
        with self._lock:
            if key in self._entries:
                return
            self._entries[key] = markup, size
            self._free -= size
            while self._free < 0:
                _, (_, freed) = self._entries.popitem(last=False)
                self._free += freed


def includeme(config: Configurator) -> None:
    """Add the service, once Jinja's environment is complete."""

    def register() -> None:
        config.registry[FragmentCache] = FragmentCache(config.get_jinja2_environment())

    config.action(("modhub service", FragmentCache), register, order=1_000)
    config.add_metric(
        "cache_lookups_total", "Lookups in each cache.", _lookups, kind=COUNTER, labels=("cache", "result")
    )
    config.add_metric("cache_bytes", "Approximate bytes of each cache.", _bytes, labels=("cache",))


def _lookups(registry: Any) -> dict[LabelValues, float]:
    cache = find_service(registry, FragmentCache)
    return {("fragments", "hit"): cache.hits, ("fragments", "miss"): cache.misses}


def _bytes(registry: Any) -> dict[LabelValues, float]:
    return {"fragments": find_service(registry, FragmentCache).used}
