"""Common passwords: pages warn, programs may set them, and a setting rejects them everywhere."""

from pathlib import Path
from time import monotonic

from modhub_auth.models import Account
from modhub_auth.signin.passwords import guessable_words, is_common

from .conftest import log_in, sign_up

HOME = "/Modhub/account"
COMMON = "qwertyuiop"
OTHER = "1q2w3e4r5t"
GOOD = "correct horse battery"
WARNED = "of the first passwords that attackers try. Choose another one, or enter it again to keep it."
REFUSED = "of the first passwords that attackers try. Choose another one."

SETTINGS = {"modhub.base_url": "https://mods.example.org:8443", "modhub.site_name": "Overlay Depot"}
WORDS = guessable_words(SETTINGS, "ada.lovelace@mail.example", "Countess Ada")


TRIED_FIRST = [
    *(COMMON, "QwertyUiop", "1qaz2wsx3edc", "abcabcabcabc", "x" * 1024, "2024password", "!!monkey99!!"),
    *("Herbst#2026#1", "P@ssw0rd2026", "Frühling2026€", "dragon987654321"),
    *("ada.lovelace@mail.example1", "adalovelacemailexample", "Overlay2026!", "mods-example", "countess2024"),
]
OTHERS = [
    *(GOOD, "aB3$kL9!pQz", "zażółć gęślą jaźń", "lovelace wrote programs", "summer-winter-autumn"),
    *("sommer83920175", "8392017554", "countess of numbers", "p4nt0m1m3nfl0h"),
]


def test_what_is_tried_first():
    assert [password for password in TRIED_FIRST if not is_common(password, WORDS)] == []
    assert [password for password in OTHERS if is_common(password, WORDS)] == []


def test_the_longest_password_is_judged_at_once():
    is_common(COMMON)
    began = monotonic()
    for password in ("ab" * 512, "ab" * 511 + "cd", "a" * 1023 + "b", "modhub" * 170):
        is_common(password, WORDS)
    assert monotonic() - began < 1


def test_the_shipped_ini_refuses_them():
    # C-ACC-21
    lines = (Path(__file__).parents[2] / "production.ini").read_text("utf-8").splitlines()
    assert "modhub_auth.refuse_common_passwords = true" in lines


def test_programs_may_set_any(app, person):
    # C-ACC-21
    sign_up(app, person, password=COMMON)


def test_a_setting_refuses_them_everywhere(auth, person):
    # C-ACC-21
    app = auth(modhub_auth__refuse_common_passwords="true", modhub__site_name="Overlay Depot")
    for password in (COMMON, "ada2024ada2024", "countess2024", "overlaydepot1"):
        registration = {**person, "password": password, "displayName": "Countess"}
        refused = sign_up(app, registration, 400)
        assert (refused["error"], "password" in refused["message"]) == ("common_password", True)
    form = app.get(f"{HOME}/register").forms[0]
    for _ in range(2):
        form["email"], form["password"] = person["email"], COMMON
        page = form.submit(status=400)
        assert REFUSED in page.html.select_one("#password-error").text
        form = page.forms[0]
    assert app.count_rows(Account) == 0
    sign_up(app, person)


def warned(page, **fields):
    """Send the form with a common password: the page that warns of it."""
    form = page.forms[0]
    for name, value in {"password": COMMON, **fields}.items():
        form[name] = value
    answer = form.submit(status=400)
    assert WARNED in answer.html.select_one("#password-error").text
    assert answer.html.select_one("#password")["value"] == ""
    assert COMMON not in answer.text
    return answer


def test_registering_warns_and_continues(app, person):
    # C-ACC-21
    answer = warned(app.get(f"{HOME}/register"), email=person["email"], displayName="Ada")
    assert (answer.forms[0]["email"].value, answer.forms[0]["displayName"].value) == (person["email"], "Ada")
    # The consent is to that password alone.
    answer = warned(warned(answer, password=OTHER))
    answer.forms[0]["password"] = COMMON
    answer.forms[0].submit(status=303)
    log_in(app, person, password=COMMON)
