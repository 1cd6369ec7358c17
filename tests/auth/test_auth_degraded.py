"""Pages while the database is away: nobody is signed out, and forms come back."""

import pytest

from modhub_testing.databases import closed_database

HOME = "/Modhub/account"


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_session_survives_an_outage(auth, person):
    # C-RUN-28
    app = auth()
    form = app.get(f"{HOME}/register").forms[0]
    form["email"], form["password"] = person["email"], person["password"]
    form.submit(status=303)
    own = app.get(HOME, status=200)
    new_mod = app.get("/Modhub/mine/new", status=200)
    with closed_database(app.registry.settings["sqlalchemy.url"]):
        for address in (HOME, "/Modhub/mine", "/Modhub/mine/new"):
            answer = app.get(address, status=503)
            assert int(answer.headers["Retry-After"]) >= 1
            assert "Set-Cookie" not in answer.headers
        (form,) = (candidate for candidate in new_mod.forms.values() if candidate.action == "/Modhub/mine/new")
        form["title"] = "Kept"
        answer = form.submit(status=503)
        assert int(answer.headers["Retry-After"]) >= 1
        assert "Set-Cookie" not in answer.headers
    assert app.get(HOME, status=200).text == own.text
    form.submit(status=303)
    assert "Kept" in app.get("/Modhub/mine", status=200).text
