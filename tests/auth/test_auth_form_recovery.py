"""Forms sent after the session has ended: sign in again and return to the page of the form."""

HERE = "http://127.0.0.1:6543"
LOGIN = "/Modhub/account/login"


def test_the_way_back_is_the_page_of_the_form(app):
    for path, referer, location in (
        ("/Modhub/mine/26/code", f"{HERE}/Modhub/mine/26?done=code", f"{LOGIN}?next=/Modhub/mine/26%3Fdone%3Dcode"),
        ("/Modhub/mine/26/code", "", f"{LOGIN}?next=/Modhub/mine/26/code"),
        ("/Modhub/mine/26/code", "https://evil.example/Modhub/mine/1", f"{LOGIN}?next=/Modhub/mine/26/code"),
        ("/Modhub/mine/26/code", f"{HERE}//evil.example", LOGIN),
        ("/Modhub/account/name", "", LOGIN),
        ("/Modhub/account/name", f"{HERE}.evil.example.org/x", LOGIN),
    ):
        answer = app.post(path, {}, headers={"Referer": referer} if referer else {}, status=303)
        assert answer.headers["Location"] == location
