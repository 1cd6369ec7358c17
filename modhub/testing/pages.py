"""Visitors of pages for tests: somebody with cookies of their own, who fills in forms."""

from http.cookiejar import CookieJar
from typing import Any

from webtest.app import CookiePolicy

from modhub.testing import Site
from modhub.testing.accounts import COOKIE


def new_visitor(site: Site, account_id: int | None = None) -> Site:
    """The same application with a cookie jar of its own, signed in where a number is given."""
    other = Site.__new__(Site)
    other.__dict__.update(site.__dict__)
    other.extra_environ = dict(site.extra_environ)
    other.cookiejar = CookieJar(policy=CookiePolicy())
    if account_id is not None:
        other.set_cookie(COOKIE, str(account_id))
    return other


def form_at(page: Any, action: str) -> Any:
    """The one form of ``page`` that is sent to ``action``."""
    (found,) = {form for form in page.forms.values() if form.action == action}
    return found


def make_mod_by_form(author: Site, **fields: str) -> Any:
    """The workshop page of a new draft that ``author`` makes by form."""
    form = form_at(author.get("/Modhub/mine/new"), "/Modhub/mine/new")
    for name, value in {"title": "A mod", **fields}.items():
        form[name] = value
    return form.submit(status=303).follow(status=200)


def send_file_by_form(page: Any, kind: str, name: str, content: bytes, **fields: str) -> Any:
    """The answer to a file sent by the form of a workshop page; ``kind``: ``code``, ``css`` or ``images``."""
    (form,) = (form for form in page.forms.values() if form.action.endswith(f"/{kind}"))
    for field, value in fields.items():
        form[field] = value
    sent = (name, content, "application/zip" if kind == "code" else "image/png")
    form["file"] = [sent] if kind == "images" else sent
    return form.submit(expect_errors=True)
