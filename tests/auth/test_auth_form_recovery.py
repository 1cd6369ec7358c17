"""Forms sent after the session has ended: sign in again and return to the page of the form."""

from typing import Any

HERE = "http://127.0.0.1:6543"
LOGIN = "/Modhub/account/login"


def test_the_way_back_is_the_page_of_the_form(app: Any) -> None:
    for referer, next_page in (
        (f"{HERE}/Modhub/mine/26?done=code", "/Modhub/mine/26%3Fdone%3Dcode"),
        (f"{HERE}/Modhub/mine/ä", "/Modhub/mine/%25"),
        ("", "/Modhub/mine/26/code"),
        (HERE, "/Modhub/mine/26/code"),
        ("https://evil.example/Modhub/mine/1", "/Modhub/mine/26/code"),
        (f"{HERE}//evil.example", None),
    ):
        sent = {"Referer": referer.encode().decode("latin-1")}
        location = app.post("/Modhub/mine/26/code", b"x", headers=sent, status=303).headers["Location"]
        assert location.startswith(f"{LOGIN}?next={next_page}") if next_page else location == LOGIN


def test_after_signing_in_there_is_a_page(app: Any) -> None:
    for path, referer, location in (
        ("/Modhub/account/name", "", LOGIN),
        ("/Modhub/account/name", f"{HERE}/Modhub/account", f"{LOGIN}?next=/Modhub/account"),
        ("/Modhub/account/name", f"{HERE}.evil.example.org/x", LOGIN),
        ("/Modhub/account/password", "", f"{LOGIN}?next=/Modhub/account/password"),
    ):
        answer = app.post(path, {}, headers={"Referer": referer} if referer else {}, status=303)
        assert answer.headers["Location"] == location
