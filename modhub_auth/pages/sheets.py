"""A sheet: one form with its words, as the template ``sheet.jinja2`` shows it."""

from dataclasses import dataclass, field
from typing import Any, Final

from modhub.errors import Refusal
from modhub.pages import forms
from modhub.request import Request

SHEET: Final = "modhub_auth:templates/account/sheet.jinja2"
SAID: Final = "modhub_auth:templates/account/said.jinja2"


@dataclass(slots=True)
class Field:
    """One field. ``name`` is that of the JSON field (decisions 9); ``complete`` helps password managers."""

    name: str
    label: str
    type: str = "text"
    complete: str = "off"
    hint: str = ""
    value: str = ""
    required: bool = True


@dataclass(slots=True)
class Sheet:
    """One page with one form; ``links`` are (address, text)."""

    title: str
    button: str
    fields: list[Field]
    lead: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)
    danger: bool = False

    def show(self, request: Request, refusal: Refusal | None = None, **more: Any) -> dict[str, Any]:
        """What the template gets. Signed in or not, such a page is nobody else's: it is never stored."""
        private(request)
        for one in self.fields:
            if one.type != "password" and one.name != "code":
                one.value = sent(request, one.name) or one.value
        blamed = [one.name for one in self.fields if refusal is not None and one.name in refusal.message]
        return {"sheet": self, "refusal": refusal, "blamed": blamed, **more}

    def refused(self, request: Request, refusal: Refusal, **more: Any) -> dict[str, Any]:
        """The sheet again, with what is wrong; what was typed stays, except secrets."""
        forms.refused(request, refusal)
        if "Retry-After" in refusal.headers:
            request.response.headers["Retry-After"] = refusal.headers["Retry-After"]
        return self.show(request, refusal, **more)


def sent(request: Request, name: str) -> str:
    """A field of the form that was sent, else empty."""
    value = request.POST.get(name, "") if not request.is_safe else ""
    return value if isinstance(value, str) else ""


def private(request: Request) -> None:
    """This answer is for one visitor."""
    request.response.headers["Cache-Control"] = "no-store"


def said(request: Request, title: str, *lines: str, links: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    """A page that only says something."""
    private(request)
    return {"title": title, "lines": lines, "links": links}
