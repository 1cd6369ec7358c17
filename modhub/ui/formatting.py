"""Format sizes, times and sentences."""

from datetime import UTC, datetime

from markupsafe import Markup, escape

from modhub.content.limits import KB, MB
from modhub.ui.i18n import UNITS, Translations


def format_size(count: int, messages: Translations) -> str:
    """Format a number of bytes; 1 KB is 1024 bytes (C-TXT-7)."""
    if count < KB:
        return messages.ngettext("%(num)s byte", "%(num)s bytes", count)
    number, unit = (count / MB, "MB") if count >= MB else (count / KB, "KB")
    digits = f"{number:.1f}" if number < 10 else f"{number:.0f}"
    return f"{digits.removesuffix('.0')}\u00a0{unit}".replace(".", messages.decimal_symbol)


def format_age(moment: datetime, now: datetime, messages: Translations) -> str:
    """How long ago, in the largest unit; "just now" for a time in the future (clocks differ)."""
    seconds = int((now - moment).total_seconds())
    for unit, length in UNITS.items():
        if seconds >= length:
            return messages.ago(unit, seconds // length)
    return messages.gettext("just now")


def time_element(stamp: str | datetime, text: str, messages: Translations) -> Markup:
    """``<time>`` that shows ``text``; the exact time is in ``title`` and ``datetime``."""
    exact = (datetime.fromisoformat(stamp) if isinstance(stamp, str) else stamp).astimezone(UTC)
    title = f"{messages.date(exact.date())}, {exact.hour:02}:{exact.minute:02} UTC"
    return _time_tag(exact, f' title="{escape(title)}"', text)


def day_element(stamp: str | datetime, messages: Translations) -> Markup:
    """``<time>`` that shows the day."""
    exact = (datetime.fromisoformat(stamp) if isinstance(stamp, str) else stamp).astimezone(UTC)
    return _time_tag(exact, "", messages.date(exact.date()))


def month_element(stamp: datetime, messages: Translations) -> Markup:
    """``<time>`` that shows the month."""
    exact = stamp.astimezone(UTC)
    return _time_tag(exact, "", messages.month(exact.date()))


def _time_tag(exact: datetime, attributes: str, text: str) -> Markup:
    # Markup.format and strftime take as long as a database statement.
    stamp = exact.replace(tzinfo=None).isoformat(timespec="seconds")
    return Markup(f'<time datetime="{stamp}Z"{attributes}>{escape(text)}</time>')  # noqa: S704 - escaped


class Formatter:
    """Formats values in one language. Nothing here depends on the current time."""

    def __init__(self, messages: Translations) -> None:
        self.messages = messages

    def size(self, count: int) -> str:
        """Return a number of bytes as readers see it (:func:`format_size`)."""
        return format_size(count, self.messages)

    def moment(self, stamp: str | datetime, text: str) -> Markup:
        """Return a ``time`` element with date and time (:func:`time_element`)."""
        return time_element(stamp, text, self.messages)

    def day(self, stamp: str | datetime) -> Markup:
        """Return a ``time`` element with the date (:func:`day_element`)."""
        return day_element(stamp, self.messages)

    def month(self, stamp: datetime) -> Markup:
        """Return a ``time`` element with the month (:func:`month_element`)."""
        return month_element(stamp, self.messages)

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
