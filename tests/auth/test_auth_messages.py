"""German accounts: emails and refusals."""

import re
from pathlib import Path

import pytest

import modhub_auth
from modhub.ui.i18n import Catalogs
from modhub_auth.mail.outbox import Outbox
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.tokens import SecretBox

HERE = Path(modhub_auth.__file__).parent
HOME = "/Modhub/account"
GERMAN = {"Accept-Language": "de"}


WITHOUT_LINK = {"taken", "account deleted", "email changed", "offer accepted", "offer declined", "offer withdrawn"}


@pytest.mark.parametrize("kind", EMAIL_TEMPLATES)
def test_emails_are_german(kind):
    languages = Catalogs()
    languages.load([str(HERE / "locale")])
    writer = Outbox("https://mods.example.org:8443", "modhub@example.org", SecretBox(["x" * 32], "letter"))
    english, written = (writer.render(kind, languages.translations[name], "SECRET") for name in ("en", "de"))
    assert written.subject != english.subject
    assert '<html lang="de">' in written.html
    assert not set(written.text.splitlines()) & {line for line in english.text.splitlines() if " " in line}
    for text in (written.text, written.html):
        assert "bei mods.example.org:8443" in text
        assert ("SECRET" in text) == bool(EMAIL_TEMPLATES[kind].link)
        assert "%(" not in text
        # Whatever a mail program takes for a link leads to the site itself, the one with the secret first.
        links = re.findall(r"https://mods\.example\.org:8443[^\s\"<]*", text)
        other = "/account" if kind == "offer received" else "/forgot"
        expected = "?token=SECRET" if EMAIL_TEMPLATES[kind].link else other
        assert links[0].endswith(expected) if links else kind in WITHOUT_LINK


def test_an_email_has_the_language_of_the_request_that_caused_it(app, person, mail):
    app.post_json("/api/auth/register", person, headers=GERMAN)
    form = app.get(f"{HOME}/forgot").forms[0]
    form["email"] = person["email"]
    form.submit(headers={"Accept-Language": "en"})
    app.post_json("/api/auth/forgot", {"email": person["email"]}, headers={"Accept-Language": "de-AT, en;q=0.5"})
    subjects = [str(message["Subject"]) for message in mail.read()]
    assert subjects == ["Bestätige deine E-Mail-Adresse", "Choose a new password", "Wähle ein neues Passwort"]


def test_refusals_beside_fields_are_german(app):
    page = app.get(f"{HOME}/register", headers=GERMAN)
    form = page.forms[0]
    form["email"], form["password"] = "ada", "short"
    answer = form.submit(headers=GERMAN, status=400)
    assert answer.html.html["lang"] == "de"
    assert answer.html.select_one("#email-error").text == "Das ist keine E-Mail-Adresse."
    assert answer.html.select_one("#password-error").text == "Das Passwort muss 10 bis 1024 Zeichen lang sein."
