"""Pages with one form, rendered by ``form.jinja2``, and pages with a message alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from modhub.base.errors import ApiError
from modhub.ui import forms
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub_auth.pages.error_messages import collect_errors, field_error

FORM_TEMPLATE: Final = "modhub_auth:templates/account/form.jinja2"
MESSAGE_TEMPLATE: Final = "modhub_auth:templates/account/message.jinja2"
MARK_FIELD: Final = "commonPassword"
"""The hidden field that confirms a common password (:mod:`modhub_auth.pages.password_field`)."""
Links = list[tuple[str, str]]
"""Pairs of address and text."""


@dataclass(slots=True)
class FormField:
    """One field. ``name`` equals that of the JSON field (C-PAGE-6); ``error`` is translated.

    ``autocomplete`` and ``inputmode`` are the HTML attributes, for password managers and telephone keyboards.
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
    """Raises an ApiError for an invalid value."""
    options: Sequence[tuple[str, str]] = ()
    """(value, text) of each choice, for a list instead of a line; the first text is a msgid, the others are names."""

    @property
    def is_secret(self) -> bool:
        """Whether it is shown empty again after an error."""
        return self.type == "password" or self.name == "code"

    @property
    def described_by(self) -> str:
        """The ids of the texts below the field."""
        return " ".join(f"{self.name}-{suffix}" for suffix in ("hint", "error") if getattr(self, suffix))


@dataclass(frozen=True, slots=True)
class Checkbox:
    """A box that is ticked at first. The form's field ``shown`` lists the boxes that it had."""

    name: str
    value: str
    label: str

    def was_unticked(self, request: Request) -> bool:
        """Whether the submitted form had this box, and it was empty."""
        return self.value in form_value(request, "shown").split() and self.value not in request.POST.getall(self.name)


@dataclass(slots=True)
class FormPage:
    """One page with one form. ``alternatives`` link to other ways to do the same; ``username`` tells password managers
    whose password is changed; ``legend`` heads the ``checkboxes``; ``template_values`` are for the page's own template.
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
        """The errors of all fields in the submitted form."""
        checks = [
            (form_field.check, form_value(request, form_field.name))
            for form_field in self.fields
            if form_field.check is not None
        ]
        return collect_errors(*checks)

    def show(self, request: Request, *api_errors: ApiError) -> dict[str, Any]:
        """The template's values. The page is for this visitor only, signed in or not: it is never stored."""
        never_store(request)
        fields_by_name = {form_field.name: form_field for form_field in self.fields}
        for form_field in self.fields:
            if not form_field.is_secret:
                form_field.value = form_value(request, form_field.name) or form_field.value
        messages = [
            (*field_error(request, api_error, list(fields_by_name)), api_error.code) for api_error in api_errors
        ]
        for field_name, sentence, _ in messages:
            if field_name:
                fields_by_name[field_name].error = sentence
        if mark := form_value(request, MARK_FIELD):
            self.hidden[MARK_FIELD] = mark
        for api_error in api_errors:
            self.hidden |= api_error.extra.get("hidden", {})
        unticked = {box for box in self.checkboxes if api_errors and box.was_unticked(request)}
        return {"form": self, "errors": messages, "unticked": unticked, **self.template_values}

    def show_errors(self, request: Request, error: ApiError, *others: ApiError) -> dict[str, Any]:
        """The form again with these errors. It keeps the submitted values, except secrets.

        An error may add ``hidden`` fields for the next try.
        """
        forms.set_error_status(request, error)
        return self.show(request, error, *others)


def form_value(request: Request, name: str) -> str:
    """The value of a submitted field; empty without one."""
    value = request.POST.get(name, "") if not request.is_safe else ""
    return value if isinstance(value, str) else ""


def never_store(request: Request) -> None:
    """Forbid caches to store the response: it is for one visitor."""
    request.response.headers["Cache-Control"] = "no-store"


def never_stored(response: Any) -> Any:
    """The response with ``no-store``, for a redirect that sets a cookie and the like."""
    response.headers["Cache-Control"] = "no-store"
    return response


def message_page(
    request: Request, message_id: str, title: str, *lines: str, links: Links, status: int = 200
) -> dict[str, Any]:
    """A page with a message alone, for the renderer :data:`MESSAGE_TEMPLATE`.

    ``message_id`` names the message in the page's HTML, the same in all languages.
    """
    never_store(request)
    request.response.status_int = status
    return {"message_id": message_id, "title": title, "lines": lines, "links": links}


def error_page(request: Request, title: str, error: ApiError, links: Links) -> dict[str, Any]:
    """An error page without a form: the message, and links to go on."""
    if not request.is_safe:
        forms.set_error_status(request, error)
    request.response.headers.update(error.headers)
    sentence = error.localized(translations_for(request).gettext)
    return message_page(request, error.code, title, sentence, links=links, status=error.status)
