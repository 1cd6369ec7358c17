"""Forms sent after the session has ended: sign in again and return to the page of the form."""

from typing import Any

import pytest

HERE = "http://127.0.0.1:6543"
LOGIN = "/Modhub/account/login"


@pytest.mark.parametrize(
    ("referer", "next_page"),
    [
        (f"{HERE}/Modhub/mine/26?done=code", "/Modhub/mine/26%3Fdone%3Dcode"),
        (f"{HERE}/Modhub/mine/ä", "/Modhub/mine/%25"),
        ("", "/Modhub/mine/26/code"),
        (HERE, "/Modhub/mine/26/code"),
        ("https://evil.example/Modhub/mine/1", "/Modhub/mine/26/code"),
        (f"{HERE}.evil.example/x", "/Modhub/mine/26/code"),
        (f"{HERE}//evil.example", None),
    ],
)
def test_the_way_back_is_the_page_of_the_form(app: Any, referer: str, next_page: str | None) -> None:
    answer = app.post("/Modhub/mine/26/code", b"x", headers={"Referer": referer.encode().decode("latin-1")}, status=303)
    location = answer.headers["Location"]
    if next_page is None:
        assert location == LOGIN
    else:
        assert location.startswith(f"{LOGIN}?next={next_page}")


def test_what_was_typed_stays_while_the_session_has_ended(app: Any, person: dict[str, str]) -> None:
    page = app.get("/Modhub/account/register")
    form = next(form for form in page.forms.values() if form.method.upper() == "POST")
    for name, value in person.items():
        form[name] = value
    form.submit(status=303)
    new = app.get("/Modhub/mine/new")
    form = next(form for form in new.forms.values() if form.action == "/Modhub/mine/new")
    form["title"], form["description"] = "Typed", "For an hour"
    app.reset()
    page = form.submit(status=403, headers={"Origin": HERE, "Referer": f"{HERE}/Modhub/mine/new"})
    assert page.html.find(id="description").text.strip() == "For an hour"
    assert page.html.find(id="errors").a["href"] == f"{LOGIN}?next=/Modhub/mine/new"
    signing = app.get(page.html.find(id="errors").a["href"])
    sign_in = next(form for form in signing.forms.values() if form.method.upper() == "POST")
    sign_in["email"], sign_in["password"] = person["email"], person["password"]
    assert sign_in.submit(status=303).headers["Location"] == "/Modhub/mine/new"
    again = next(form for form in page.forms.values() if form.action == "/Modhub/mine/new")
    page = again.submit(status=400, headers={"Origin": HERE})
    again = next(form for form in page.forms.values() if form.action == "/Modhub/mine/new")
    made = again.submit(status=303, headers={"Origin": HERE}).follow()
    assert made.html.find(id="description").text.strip() == "For an hour"


@pytest.mark.parametrize(
    ("path", "referer", "location"),
    [
        ("/Modhub/account/name", "", LOGIN),
        ("/Modhub/account/name", "http://127.0.0.1:6543/Modhub/account", f"{LOGIN}?next=/Modhub/account"),
        ("/Modhub/account/name", "http://127.0.0.1:6543.evil.example.org/x", LOGIN),
        ("/Modhub/account/password", "", f"{LOGIN}?next=/Modhub/account/password"),
        ("/Modhub/mine/new", "", f"{LOGIN}?next=/Modhub/mine/new"),
    ],
)
def test_after_signing_in_there_is_a_page(app: Any, path: str, referer: str, location: str) -> None:
    answer = app.post(path, {}, headers={"Referer": referer} if referer else {}, status=303)
    assert answer.headers["Location"] == location
