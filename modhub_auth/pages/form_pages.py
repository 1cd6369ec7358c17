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
MARK_FIELD: Final = "commonPassword"
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
    autocomplete: str = "off"
    hint: str = ""
    value: str = ""
    required: bool = True
    inputmode: str = ""
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
        return " ".join(f"{self.name}-{suffix}" for suffix in ("error", "hint") if getattr(self, suffix))


@dataclass(frozen=True, slots=True)
class Checkbox:
    """A box that is ticked to begin with; the form's field ``shown`` says which boxes it had."""

    name: str
    value: str
    label: str

    def was_unticked(self, request: Request) -> bool:
        """Whether the form that was sent had this box, and it was empty."""
        return self.value in form_value(request, "shown").split() and self.value not in request.POST.getall(self.name)


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
    alternatives: Links = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)
    username: str = ""
    danger: bool = False
    legend: str = ""
    checkboxes: list[Checkbox] = field(default_factory=list)
    template_values: dict[str, Any] = field(default_factory=dict)

    def input_errors(self, request: Request) -> list[ApiError]:
        """What is wrong with what was typed, of all fields at once."""
        checks = [
            (form_field.check, form_value(request, form_field.name))
            for form_field in self.fields
            if form_field.check is not None
        ]
        return collect_errors(*checks)

    def show(self, request: Request, *api_errors: ApiError) -> dict[str, Any]:
        """What the template gets. Signed in or not, such a page is nobody else's: it is never stored."""
        never_store(request)
        fields_by_name = {form_field.name: form_field for form_field in self.fields}
        for form_field in self.fields:
            if not form_field.is_secret:
                form_field.value = form_value(request, form_field.name) or form_field.value
        messages = [field_error(request, api_error, list(fields_by_name)) for api_error in api_errors]
        for field_name, sentence in messages:
            if field_name:
                fields_by_name[field_name].error = sentence
        if mark := form_value(request, MARK_FIELD):
            self.hidden[MARK_FIELD] = mark
        for api_error in api_errors:
            self.hidden |= api_error.extra.get("hidden", {})
        unticked = {box for box in self.checkboxes if api_errors and box.was_unticked(request)}
        return {"sheet": self, "errors": messages, "unticked": unticked, **self.template_values}

    def show_errors(self, request: Request, error: ApiError, *others: ApiError) -> dict[str, Any]:
        """The sheet again, with what is wrong; what was typed stays, except secrets.

        A refusal may bring ``hidden`` fields for the next try.
        """
        forms.set_error_status(request, error)
        return self.show(request, error, *others)


def form_value(request: Request, name: str) -> str:
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


def error_page(request: Request, title: str, error: ApiError, links: Links) -> dict[str, Any]:
    """A refusal that leaves no form to show again: what it says, and where to go from here."""
    if not request.is_safe:
        forms.set_error_status(request, error)
    request.response.headers.update(error.headers)
    return message_page(
        request, title, error.localized(translations_for(request).gettext), links=links, status=error.status
    )
