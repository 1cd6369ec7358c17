"""A sheet: one form with its words, as the template ``sheet.jinja2`` shows it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from modhub.errors import ApiError
from modhub.request import Request
from modhub.ui import forms
from modhub.ui.template_helpers import translations_for
from modhub_auth.pages.error_messages import collect_errors, field_error

FORM_TEMPLATE: Final = "modhub_auth:templates/account/sheet.jinja2"
MESSAGE_TEMPLATE: Final = "modhub_auth:templates/account/said.jinja2"
MARK: Final = "commonPassword"
"""The hidden field by which a common password is kept (:mod:`modhub_auth.pages.password_field`)."""
Links = list[tuple[str, str]]
"""Addresses and their texts."""


@dataclass(slots=True)
class FormField:
    """One field. ``name`` is that of the JSON field (C-PAGE-6); ``complete`` helps password managers.

    ``keys`` is the keyboard that a telephone shows (HTML, ``inputmode``); ``error`` is translated.
    """

    name: str
    label: str
    type: str = "text"
    complete: str = "off"
    hint: str = ""
    value: str = ""
    required: bool = True
    keys: str = ""
    error: str = ""
    check: Callable[[str], object] | None = None
    """Refuses what is no such thing."""

    @property
    def is_secret(self) -> bool:
        """Whether it is shown empty again after a refusal."""
        return self.type == "password" or self.name == "code"

    @property
    def described_by(self) -> str:
        """The ids of what stands below the field."""
        return " ".join(f"{self.name}-{part}" for part in ("error", "hint") if getattr(self, part))


@dataclass(frozen=True, slots=True)
class Checkbox:
    """A box that is ticked to begin with; the form's field ``shown`` says which boxes it had."""

    name: str
    value: str
    label: str

    def was_unticked(self, request: Request) -> bool:
        """Whether the form that was sent had this box, and it was empty."""
        return self.value in sent_value(request, "shown").split() and self.value not in request.POST.getall(self.name)


@dataclass(slots=True)
class FormPage:
    """One page with one form. ``doors`` are other ways to the same end; ``username`` tells password managers whose
    password is changed; ``ticks`` stand under ``legend``; ``more`` is for the page's own template.
    """

    title: str
    button: str
    fields: list[FormField]
    lead: list[str] = field(default_factory=list)
    links: Links = field(default_factory=list)
    doors: Links = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)
    username: str = ""
    danger: bool = False
    legend: str = ""
    ticks: list[Checkbox] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def faults(self, request: Request) -> list[ApiError]:
        """What is wrong with what was typed, of all fields at once."""
        return collect_errors(
            *((one.check, sent_value(request, one.name)) for one in self.fields if one.check is not None)
        )

    def show(self, request: Request, *refusals: ApiError) -> dict[str, Any]:
        """What the template gets. Signed in or not, such a page is nobody else's: it is never stored."""
        never_store(request)
        fields = {one.name: one for one in self.fields}
        for one in self.fields:
            if not one.is_secret:
                one.value = sent_value(request, one.name) or one.value
        errors = [field_error(request, refusal, list(fields)) for refusal in refusals]
        for name, sentence in errors:
            if name:
                fields[name].error = sentence
        if mark := sent_value(request, MARK):
            self.hidden[MARK] = mark
        for refusal in refusals:
            self.hidden |= refusal.extra.get("hidden", {})
        unticked = {one for one in self.ticks if refusals and one.was_unticked(request)}
        return {"sheet": self, "errors": errors, "unticked": unticked, **self.more}

    def refused(self, request: Request, refusal: ApiError, *others: ApiError) -> dict[str, Any]:
        """The sheet again, with what is wrong; what was typed stays, except secrets.

        A refusal may bring ``hidden`` fields for the next try.
        """
        forms.set_error_status(request, refusal)
        return self.show(request, refusal, *others)


def sent_value(request: Request, name: str) -> str:
    """A field of the form that was sent, else empty."""
    value = request.POST.get(name, "") if not request.is_safe else ""
    return value if isinstance(value, str) else ""


def never_store(request: Request) -> None:
    """This answer is for one visitor."""
    request.response.headers["Cache-Control"] = "no-store"


def never_stored(response: Any) -> Any:
    """An answer that is no page, such as a redirect which brings a cookie: nobody keeps it."""
    response.headers["Cache-Control"] = "no-store"
    return response


def message_page(request: Request, title: str, *lines: str, links: Links, status: int = 200) -> dict[str, Any]:
    """A page that only says something, for the renderer :data:`MESSAGE_TEMPLATE`."""
    never_store(request)
    request.response.status_int = status
    return {"title": title, "lines": lines, "links": links}


def error_page(request: Request, title: str, refusal: ApiError, links: Links) -> dict[str, Any]:
    """A refusal that leaves no form to show again: what it says, and where to go from here."""
    if not request.is_safe:
        forms.set_error_status(request, refusal)
    request.response.headers.update(refusal.headers)
    return message_page(
        request, title, refusal.localized(translations_for(request).gettext), links=links, status=refusal.status
    )
