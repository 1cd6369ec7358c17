"""Pieces of pages that are drawn once and kept, since drawing them is most of what a page costs.

A piece is a template of its own. It sees the values that it is given, its language, and nothing else: no request, no
clock, no database. Those values are also what it is kept by. So what is kept can never be out of date, whichever
process wrote what it shows, and who may see it is decided by whoever reads the values, for each request anew.
"""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator

from modhub.limits import MB
from modhub.pages.messages import Messages
from modhub.pages.shapes import Shapes

BUDGET: Final = 32 * MB
"""About as much as an application keeps; what was not wanted for longest goes first."""
_OVERHEAD: Final = 500
"""Bytes that an entry takes besides its texts."""


def _weight(value: object) -> int:
    """About how many bytes a value keeps alive."""
    if isinstance(value, str | bytes):
        return len(value)
    return sum(_weight(one) for one in value) if isinstance(value, tuple) else 0


class Pieces:
    """Draws and keeps pieces; one for an application. ``environment`` is Jinja's, ``budget`` is in bytes."""

    def __init__(self, environment: Any, budget: int = BUDGET) -> None:
        self._environment = environment
        self._left = budget
        self._kept: OrderedDict[Hashable, tuple[Markup, int]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, template: str, messages: Messages, **values: Hashable) -> Markup:
        """The piece; its template has ``values``, ``_``, ``ngettext`` and, for sizes and days, ``ui``."""
        key = (template, messages, *values.items())
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known[0]
        drawn = self.draw(template, messages, **values)
        self._keep(key, drawn)
        return drawn

    def draw(self, template: str, messages: Messages, **values: Any) -> Markup:
        """The same, drawn for this once: where keeping it would not pay."""
        tools = {"ui": Shapes(messages), "_": messages.gettext, "ngettext": messages.ngettext}
        drawn = self._environment.get_template(template).render({**tools, **values})
        return Markup(drawn)  # noqa: S704 - our templates escape

    def _keep(self, key: tuple[Hashable, ...], drawn: Markup) -> None:
        weight = len(drawn) + _weight(key) + _OVERHEAD
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = drawn, weight
            self._left -= weight
            while self._left < 0:
                _, (_, freed) = self._kept.popitem(last=False)
                self._left += freed


def includeme(config: Configurator) -> None:
    """``registry.pieces``, when Jinja's environment is complete."""

    def make() -> None:
        config.registry.pieces = Pieces(config.get_jinja2_environment())

    config.action("modhub pieces", make, order=1_000)
