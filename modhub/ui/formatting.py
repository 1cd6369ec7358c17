"""How values are shown: sizes, times, and the tile that stands where a mod has no picture."""

from datetime import UTC, datetime
from hashlib import blake2b

from markupsafe import Markup, escape

from modhub.limits import KB, MB
from modhub.ui.i18n import UNITS, Translations


def format_size(count: int, messages: Translations) -> str:
    """Bytes for people; 1 KB is 1024 bytes, as everywhere here (C-TXT-7)."""
    if count < KB:
        return messages.ngettext("%(num)s byte", "%(num)s bytes", count)
    number, unit = (count / MB, "MB") if count >= MB else (count / KB, "KB")
    digits = f"{number:.1f}" if number < 10 else f"{number:.0f}"
    return f"{digits.removesuffix('.0')}\u00a0{unit}".replace(".", messages.decimal_symbol)


def parse_timestamp(stamp: str) -> datetime:
    """The time that an answer's timestamp spells."""
    return datetime.fromisoformat(stamp)


def format_age(moment: datetime, now: datetime, messages: Translations) -> str:
    """How long ago, in the largest unit; a time to come (clocks differ) is "just now"."""
    seconds = int((now - moment).total_seconds())
    for unit, length in UNITS.items():
        if seconds >= length:
            return messages.ago(unit, seconds // length)
    return messages.gettext("just now")


def time_element(stamp: str | datetime, said: str, messages: Translations) -> Markup:
    """``<time>`` with what is ``said`` of it; the exact time is its title and its machine-readable value."""
    exact = (parse_timestamp(stamp) if isinstance(stamp, str) else stamp).astimezone(UTC)
    title = f"{messages.date(exact.date())}, {exact.hour:02}:{exact.minute:02} UTC"
    return _time_tag(exact, f' title="{escape(title)}"', said)


def day_element(stamp: str | datetime, messages: Translations) -> Markup:
    """``<time>`` with the day in words."""
    exact = (parse_timestamp(stamp) if isinstance(stamp, str) else stamp).astimezone(UTC)
    return _time_tag(exact, "", messages.date(exact.date()))


def _time_tag(exact: datetime, attributes: str, shown: str) -> Markup:
    # Not by Markup.format and strftime, which cost as much as a statement of the database.
    stamp = exact.replace(tzinfo=None).isoformat(timespec="seconds")
    return Markup(f'<time datetime="{stamp}Z"{attributes}>{escape(shown)}</time>')  # noqa: S704 - escaped


def placeholder_svg(seed: str) -> Markup:
    """A picture made from ``seed``: blocks on a cartridge label, mirrored, in one of the site's own hues.

    Colours come from the style sheet by class, so that the tile is right in light and dark.
    """
    digest = blake2b(seed.encode(), digest_size=8).digest()
    bits = int.from_bytes(digest[:4])
    blocks = []
    for at in range(20):
        if bits >> at & 1:
            column, row = at % 4, at // 4
            blocks += [f"M{8 + 2 * x} {4 + 2 * row}h2v2h-2z" for x in (column, 7 - column)]
    dot = f'<circle cx="{9 + digest[4] % 14}" cy="{5 + digest[5] % 8}" r="{1 + digest[6] % 3 * 0.5:g}"/>'
    return Markup(  # noqa: S704 - numbers alone
        f'<svg class="tile hue-{digest[7] % 6}" viewBox="0 0 32 18" preserveAspectRatio="xMidYMid slice" '
        f'aria-hidden="true" focusable="false"><path shape-rendering="crispEdges" d="{"".join(blocks)}"/>{dot}</svg>'
    )


class Formatter:
    """How values are shown to readers of one language; what depends on the time of reading is not here."""

    def __init__(self, messages: Translations) -> None:
        self.messages = messages

    def size(self, count: int) -> str:
        """See :func:`format_size`."""
        return format_size(count, self.messages)

    def moment(self, stamp: str | datetime, said: str) -> Markup:
        """See :func:`time_element`."""
        return time_element(stamp, said, self.messages)

    def day(self, stamp: str | datetime) -> Markup:
        """See :func:`day_element`."""
        return day_element(stamp, self.messages)

    def number(self, number: int) -> str:
        """See :meth:`modhub.ui.i18n.Translations.number`."""
        return self.messages.number(number)

    def sentence(self, text: str, **values: str) -> Markup:
        """A translated sentence with what people wrote in it, each piece in its own direction."""
        shown = {name: f'<span dir="auto">{escape(value)}</span>' for name, value in values.items()}
        return Markup(str(escape(text)) % shown)  # noqa: S704 - escaped

    def placeholder_svg(self, seed: str) -> Markup:
        """See :func:`placeholder_svg`."""
        return placeholder_svg(seed)
