"""German accounts: pages, errors and emails are translated completely."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import modhub
import modhub_auth
from modhub.base.errors import invalid
from modhub.ui.i18n import Catalogs
from modhub.web.request import Request
from modhub_auth.mail.outbox import Outbox
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.pages.form_pages import field_error
from modhub_auth.tokens import SecretBox
from modhub_testing.messages import translated_texts

HERE = Path(modhub_auth.__file__).parent
HOME = "/Modhub/account"
GERMAN = {"Accept-Language": "de"}
USED = re.compile(r"""(?:\b_|ngettext)\((["'])(.+?)\1""")
HOLE = re.compile(r"%\(\w+\)s")
# What a person reads begins with a capital and goes on in small letters; a hole may come first.
WORDS = re.compile(r"(?:[A-Z][a-z -]|%\().*", re.DOTALL)
SENTENCE = re.compile(r"[A-Z][\w ,;:.'-]+ [\w ,;:.'-]+[.:]")
NOT_WORDS = {
    *("Cache-Control", "Referrer-Policy", "Platform", "Mac OS X", "Lax"),
    *("Edg", "Edge", "Opera", "Firefox", "Chrome", "Safari", "Firefox/", "Chrome/", "Safari/"),
    *("Windows", "Android", "Linux"),
}
Person = dict[str, str]

FOR_OPERATORS = {"settings.py", "commands.py", "blocking.py", "personal_data.py"}
"""Modules whose sentences are English, as those of all commands."""
FOR_PROGRAMS = {"views.py"}
"""Modules whose sentences describe the API, in English."""


def constants(path: Path) -> Iterator[str]:
    """The string constants of a module but for its docstrings, those of a formatted string left out."""
    tree = ast.parse(path.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    left_out |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def texts_for_people() -> set[str]:
    """Everything that accounts show to people."""
    templates = "".join(path.read_text("utf-8") for path in (HERE / "templates").rglob("*.jinja2"))
    texts = {text for _, text in USED.findall(templates)}
    for path in (HERE / "pages").glob("*.py"):
        texts |= {text for text in constants(path) if WORDS.fullmatch(text)} - NOT_WORDS
    mail = {HERE / "mail" / "outbox.py", HERE / "mail" / "texts.py"}
    modules = {
        *HERE.glob("*.py"),
        *(path for name in ("mail", "signin") for path in (HERE / name).glob("*.py")),
    }
    for path in modules - mail:
        if path.name not in FOR_OPERATORS | FOR_PROGRAMS:
            texts |= {text for text in constants(path) if SENTENCE.fullmatch(text)}
    for text in EMAIL_TEMPLATES.values():
        texts |= {text.subject, *text.before, *text.after}
    return texts


def german() -> dict[str, tuple[str, ...]]:
    return translated_texts(HERE, "de")


def test_german_is_complete() -> None:
    core = translated_texts(Path(modhub.__file__).parent, "de")
    plural = "Too many attempts. Try again in %(num)s minutes."
    assert texts_for_people() - set(core) - set(german()) == {plural}


def test_translations_keep_their_holes() -> None:
    for english, translated in german().items():
        for text in translated:
            assert sorted(HOLE.findall(text)) == sorted(HOLE.findall(english)), english


WITHOUT_LINK = {"taken", "account deleted", "email changed", "offer accepted", "offer declined", "offer withdrawn"}


@pytest.mark.parametrize("kind", EMAIL_TEMPLATES)
def test_emails_are_german(kind: str) -> None:
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


def test_an_email_has_the_language_of_the_request_that_caused_it(app: Any, person: Person, mail: Any) -> None:
    app.post_json("/api/auth/register", person, headers=GERMAN)
    form = app.get(f"{HOME}/forgot").forms[0]
    form["email"] = person["email"]
    form.submit(headers={"Accept-Language": "en"})
    app.post_json("/api/auth/forgot", {"email": person["email"]}, headers={"Accept-Language": "de-AT, en;q=0.5"})
    subjects = [str(message["Subject"]) for message in mail.read()]
    assert subjects == ["Bestätige deine E-Mail-Adresse", "Choose a new password", "Wähle ein neues Passwort"]


def test_refusals_beside_fields_are_german(app: Any) -> None:
    page = app.get(f"{HOME}/register", headers=GERMAN)
    form = page.forms[0]
    form["email"], form["password"] = "ada", "short"
    answer = form.submit(headers=GERMAN, status=400)
    assert answer.html.html["lang"] == "de"
    assert answer.html.select_one("#email-error").text == "Das ist keine E-Mail-Adresse."
    assert answer.html.select_one("#password-error").text == "Das Passwort muss 10 bis 1024 Zeichen lang sein."


def test_a_refusal_says_which_field_it_is_about(app: Any) -> None:
    request = Request.blank("/", headers=GERMAN)
    request.registry = app.registry
    worded = invalid("Whatever is said of %(field)s.", field="email")
    assert field_error(request, worded, ["email"]) == ("email", "Das ist keine E-Mail-Adresse.")
    assert field_error(request, worded, ["password"])[0] == ""
    assert field_error(request, invalid("The field email is only named here."), ["email"])[0] == ""
