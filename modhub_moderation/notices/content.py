"""What a report says, checked: the same rules for programs and for the form."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

from modhub.base.errors import ApiError, invalid
from modhub.content import text
from modhub_auth.email_addresses import require_address
from modhub_moderation.cases.models import CASE_TEXT, REPORTER_NAME, Ground

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who reports: an account, or a stranger by name and address."""

    account_id: int | None = None
    name: str | None = None
    email: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedReport:
    """A report that keeps all rules."""

    ground: Ground
    text: str
    reporter: Reporter
    asset_id: int | None = None


@dataclass(frozen=True, slots=True)
class SentReport:
    """A report as it was sent; what was left out is empty or None."""

    ground: str
    text: str
    good_faith: bool
    name: str = ""
    email: str = ""
    asset_id: int | None = None


class ReportRefused(Exception):
    """What is wrong with a report: one error for each field."""

    def __init__(self, errors: list[ApiError]) -> None:
        super().__init__(errors)
        self.errors = errors


def check_report(sent: SentReport, account_id: int | None, images: Collection[int]) -> CheckedReport:
    """The report; :class:`ReportRefused` if it breaks a rule (C-NTC-2). ``images``: those that it may name."""
    errors = list[ApiError]()

    def checked(check: Callable[[], _Value], otherwise: _Value) -> _Value:
        try:
            return check()
        except ApiError as error:
            errors.append(error)
            return otherwise

    ground = checked(lambda: _ground(sent.ground), Ground.OTHER)
    asset_id = checked(lambda: _image(sent.asset_id, images), None)
    body = checked(lambda: _filled("text", text.block(sent.text, CASE_TEXT + 1), CASE_TEXT), "")
    reporter = Reporter(account_id)
    if account_id is None:
        name = checked(lambda: _filled("name", text.line(sent.name, REPORTER_NAME + 1), REPORTER_NAME), "")
        reporter = Reporter(name=name, email=checked(lambda: require_address(sent.email), ""))
    if not sent.good_faith:
        message = "The field %(field)s must be true: report only what you believe in good faith to be so."
        errors.append(invalid(message, field="goodFaith"))
    if errors:
        raise ReportRefused(errors)
    return CheckedReport(ground, body, reporter, asset_id)


def _ground(value: str) -> Ground:
    if value not in set(Ground):
        raise invalid("The field %(field)s must name one of the grounds.", field="ground")
    return Ground(value)


def _image(asset_id: int | None, images: Collection[int]) -> int | None:
    if asset_id is not None and asset_id not in images:
        raise invalid("The field %(field)s must be the number of an image of the mod.", field="assetId")
    return asset_id


def _filled(field: str, cleaned: str, most: int) -> str:
    if not cleaned:
        raise invalid("The field %(field)s must not be empty.", field=field)
    if len(cleaned) > most:
        raise invalid("The field %(field)s must have at most %(most)s characters.", field=field, most=most)
    return cleaned
