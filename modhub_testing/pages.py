"""Visitors of pages for tests: they have their own cookies and fill in forms."""

from http.cookiejar import CookieJar
from typing import Any

from webtest.app import CookiePolicy

from modhub_testing import Site
from modhub_testing.accounts import COOKIE


def new_visitor(site: Site, account_id: int | None = None) -> Site:
    """Return the same application with its own cookie jar, signed in if ``account_id`` is given."""
    other = Site.__new__(Site)
    other.__dict__.update(site.__dict__)
    other.extra_environ = dict(site.extra_environ)
    other.cookiejar = CookieJar(policy=CookiePolicy())
    if account_id is not None:
        other.set_cookie(COOKIE, str(account_id))
    return other


def form_at(page: Any, action: str) -> Any:
    """Return the only form of ``page`` with this ``action``."""
    (only_form,) = {form for form in page.forms.values() if form.action == action}
    return only_form


_PARTS = {"": "details", "code": "files", "changelog": "changelog"} | dict.fromkeys(
    ("images", "captions", "image-order"), "images"
)
"""Where the forms of the workshop are; the others are on its last part."""


def workshop_form(author: Site, action: str) -> Any:
    """The form with this ``action``, or that of a button with it, in the part of a mod's workshop where it is."""
    number, _, tail = action.removeprefix("/Modhub/mine/").partition("/")
    kind, _, child = tail.removesuffix("/remove").partition("/")
    page = author.get(f"/Modhub/mine/{number}?part={_PARTS.get(kind, 'publish')}&entry={child}")
    (form,) = {form for form in page.forms.values() if f'"{action}"' in form.text}
    if form.action != action:
        form.action, form.enctype = action, "application/x-www-form-urlencoded"
    return form


def messages_on(page: Any) -> list[str]:
    """Return the ids of the messages on ``page``, which are the same in all languages."""
    return [element["data-message"] for element in page.html.select("[data-message]")]


def make_mod_by_form(author: Site, **fields: str) -> Any:
    """Create a draft by form and return its workshop page."""
    form = form_at(author.get("/Modhub/mine/new"), "/Modhub/mine/new")
    for name, value in {"title": "A mod", **fields}.items():
        form[name] = value
    return form.submit(status=303).follow(status=200)


def send_file_by_form(page: Any, kind: str, name: str, content: bytes, **fields: str) -> Any:
    """Upload a file by the form of a mod whose workshop page this is; ``kind``: ``code``, ``css`` or ``images``."""
    here = "/".join(page.request.path.split("/")[:4])
    form = workshop_form(page.test_app, f"{here}/{kind}")
    for field, value in fields.items():
        form[field] = value
    sent = (name, content, "application/zip" if kind == "code" else "image/png")
    form["file"] = [sent] if kind == "images" else sent
    return form.submit(expect_errors=True)
