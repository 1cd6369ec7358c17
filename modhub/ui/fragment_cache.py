"""Pieces of pages that are drawn once and kept, since drawing them is most of what a page costs.

A piece is a template of its own. It sees the values that it is given, its language, and nothing else: no request, no
clock, no database. Those values are also what it is kept by. So what is kept can never be out of date, whichever
process wrote what it shows, and who may see it is decided by whoever reads the values, for each request anew.
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
from modhub.ui.formatting import Formatter
from modhub.ui.i18n import Translations

BUDGET: Final = 32 * MB
"""About as much as an application keeps; what was not wanted for longest goes first."""
SHARE: Final = 16
"""A piece that takes more than this part of the budget is drawn each time: it would push out all others."""
_OVERHEAD: Final = 500
"""Bytes that an entry takes besides its texts."""


def _weight(value: Any) -> int:
    """About how many bytes a value keeps alive. A mapping counts as one object: many entries share it, none owns it."""
    if isinstance(value, tuple | list):
        inside: Iterable[Any] = value
    elif isinstance(value, msgspec.Struct):
        inside = (getattr(value, name) for name in value.__struct_fields__)
    elif is_dataclass(value) and not isinstance(value, type):
        inside = (getattr(value, one.name) for one in fields(value))
    else:
        inside = ()
    return sys.getsizeof(value) + sum(map(_weight, inside))


class FragmentCache:
    """Draws and keeps pieces; one for an application. ``environment`` is Jinja's, ``budget`` is in bytes."""

    def __init__(self, environment: Any, budget: int = BUDGET) -> None:
        self._environment = environment
        self._left = budget
        self._most = budget // SHARE
        self._kept: OrderedDict[Hashable, tuple[Markup, int]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, template: str, messages: Translations, **values: Hashable) -> Markup:
        """The piece; its template has ``values``, ``_``, ``ngettext`` and, for sizes and days, ``ui``."""
        key: tuple[Hashable, ...] = (template, messages, *values.items())
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known[0]
        drawn = self.render(template, messages, **values)
        self._keep(key, drawn)
        return drawn

    def render(self, template: str, messages: Translations, **values: Any) -> Markup:
        """The same, drawn for this once: where keeping it would not pay."""
        tools = {"ui": Formatter(messages), "_": messages.gettext, "ngettext": messages.ngettext}
        drawn = self._environment.get_template(template).render({**tools, **values})
        return Markup(drawn)  # noqa: S704 - our templates escape

    def _keep(self, key: tuple[Hashable, ...], drawn: Markup) -> None:
        weight = _weight(drawn) + _weight(key[2:]) + _OVERHEAD
        if weight > self._most:
            return
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = drawn, weight
            self._left -= weight
            while self._left < 0:
                _, (_, freed) = self._kept.popitem(last=False)
                self._left += freed


def includeme(config: Configurator) -> None:
    """The service, when Jinja's environment is complete."""

    def make() -> None:
        config.registry[FragmentCache] = FragmentCache(config.get_jinja2_environment())

    config.action(("modhub service", FragmentCache), make, order=1_000)
