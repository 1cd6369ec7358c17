"""Format sizes, times and sentences."""

from datetime import UTC, datetime

from markupsafe import Markup, escape

from modhub.content.limits import KB, MB
from modhub.ui.i18n import UNITS, Translations


def format_age(moment: datetime, now: datetime, messages: Translations) -> str:
    """How long ago, in the largest unit; "just now" for a time in the future (clocks differ)."""
    seconds = int((now - moment).total_seconds())
    for unit, length in UNITS.items():
        if seconds >= length:
            return messages.ago(unit, seconds // length)
    return messages.gettext("just now")


def _exact(stamp: str | datetime) -> datetime:
    return (datetime.fromisoformat(stamp) if isinstance(stamp, str) else stamp).astimezone(UTC)


def _time_tag(exact: datetime, attributes: str, text: str) -> Markup:
    # Markup.format and strftime take as long as a database statement.
    stamp = exact.replace(tzinfo=None).isoformat(timespec="seconds")
    return Markup(f'<time datetime="{stamp}Z"{attributes}>{escape(text)}</time>')  # noqa: S704 - escaped


class Formatter:
    """Formats values in one language. Nothing here depends on the current time."""

    def __init__(self, messages: Translations) -> None:
        self.messages = messages

    def size(self, count: int) -> str:
        """Format a number of bytes; 1 KB is 1024 bytes (C-TXT-7)."""
        if count < KB:
            return self.messages.ngettext("%(num)s byte", "%(num)s bytes", count)
        number, unit = (count / MB, "MB") if count >= MB else (count / KB, "KB")
        digits = f"{number:.1f}" if number < 10 else f"{number:.0f}"
        return f"{digits.removesuffix('.0')}\u00a0{unit}".replace(".", self.messages.decimal_symbol)

    def moment(self, stamp: str | datetime, text: str) -> Markup:
        """``<time>`` that shows ``text``; the exact time is in ``title`` and ``datetime``."""
        exact = _exact(stamp)
        title = f"{self.messages.date(exact.date())}, {exact.hour:02}:{exact.minute:02} UTC"
        return _time_tag(exact, f' title="{escape(title)}"', text)

    def day(self, stamp: str | datetime) -> Markup:
        """``<time>`` that shows the day."""
        exact = _exact(stamp)
        return _time_tag(exact, "", self.messages.date(exact.date()))

    def month(self, stamp: str | datetime) -> Markup:
        """``<time>`` that shows the month."""
        exact = _exact(stamp)
        return _time_tag(exact, "", self.messages.month(exact.date()))

    def percent(self, part: int, whole: int) -> str:
        """Format ``part`` of ``whole`` in whole percent, rounded down: 100 % is all of it."""
        return self.messages.percent(part * 100 // whole)

    def number(self, number: int) -> str:
        """Return a number with the separators of the language."""
        return self.messages.number(number)

    def sentence(self, text: str, **values: str) -> Markup:
        """Fill user-written values into a translated sentence, each isolated by ``dir="auto"``."""
        isolated = {name: f'<span dir="auto">{escape(value)}</span>' for name, value in values.items()}
        return Markup(str(escape(text)) % isolated)  # noqa: S704 - escaped
