"""Theme and language, chosen in the footer: cookies after a choice only, and pages that differ by them."""

import re

import pytest

from modhub_testing.pages import new_visitor

HERE = "http://127.0.0.1:6543"
GERMAN = {"Accept-Language": "de"}


def choose(browser, referer=f"{HERE}/Modhub?q=x&sort=top", status=303, **fields):
    headers = {"Referer": referer} if referer else {}
    return browser.post("/Modhub/preferences", fields, headers=headers, status=status)


def style(page):
    [address] = re.findall(r'href="(/static/modhub-style[^"]+)"', page.text)
    return str(address)


def test_nothing_is_stored_before_a_choice(site):
    # C-PAGE-31
    page = site.get("/Modhub")
    assert "Set-Cookie" not in page.headers
    form = next(form for form in page.forms.values() if "theme" in form.fields)
    assert form.method == "post"
    assert [button._value for button in form.fields["language"]] == ["en", "de"]
    assert "csrf_token" not in form.fields
    answer = choose(site, language="en-nowhere", theme="sepia")
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_theme_holds_until_it_is_taken_back(site, theme):
    # C-PAGE-31
    browser = new_visitor(site)
    plain = browser.get("/Modhub")
    answer = choose(browser, theme=theme)
    assert answer.headers["Location"] == "/Modhub?q=x&sort=top"
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"modhub-theme={theme}; Max-Age=31536000; Path=/;")
    assert {"HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))
    page = browser.get("/Modhub")
    assert f'<meta name="color-scheme" content="{theme}">' in page.text
    assert page.headers["ETag"] != plain.headers["ETag"]
    browser.get("/Modhub", headers={"If-None-Match": page.headers["ETag"]}, status=304)
    browser.get("/Modhub", headers={"If-None-Match": plain.headers["ETag"]}, status=200)
    sheet = browser.get(style(page)).text
    assert style(page) != style(plain)
    assert "prefers-color-scheme" not in sheet
    assert f"color-scheme: {theme};" in sheet
    assert ("@media all {" in sheet) == (theme == "dark")
    choose(browser, theme="system")
    assert browser.get("/Modhub").headers["ETag"] == plain.headers["ETag"]


def test_the_chosen_language_wins_on_pages_only(site):
    # C-PAGE-31
    browser = new_visitor(site)
    english = browser.get("/Modhub")
    choose(browser, language="de")
    german = browser.get("/Modhub", headers={"Accept-Language": "en"})
    assert '<html lang="de"' in german.text
    assert german.headers["ETag"] != english.headers["ETag"]
    wrong = browser.get("/api/modhub/999", status=404)
    assert wrong.json["message"] == site.get("/api/modhub/999", status=404).json["message"]
    choose(browser, language="en")
    assert '<html lang="en"' in browser.get("/Modhub", headers=GERMAN).text
    site.set_cookie("modhub-language", "xx")
    assert '<html lang="de"' in site.get("/Modhub", headers=GERMAN).text


def test_the_way_back_stays_on_this_site(site):
    # C-PAGE-31
    for referer, location in (
        ("", "/Modhub"),
        (f"{HERE}/Modhub/12", "/Modhub/12"),
        ("https://evil.example.org/Modhub/12", "/Modhub/12"),
        ("https://evil.example.org//evil.example.org/x", "/Modhub"),
        ("https://evil.example.org/\\evil.example.org", "/Modhub"),
        ("http://[x", "/Modhub"),
        (f"{HERE}/Modhub/preferences", "/Modhub"),
        (f"{HERE}/Modhub/\xe4", "/Modhub"),
    ):
        assert choose(site, referer, theme="dark").headers["Location"] == location, referer


def test_a_foreign_form_is_refused(site):
    # C-PAGE-31
    site.post("/Modhub/preferences", {"theme": "dark"}, headers={"Origin": "https://evil.example.org"}, status=403)


def test_over_https_a_choice_is_bound_to_this_host_and_can_be_taken_back(start):
    # C-PAGE-31, C-SEC-1
    site = start("", modhub__base_url="https://mods.example.org")
    site.extra_environ = {"wsgi.url_scheme": "https", "HTTP_HOST": "localhost:443"}
    answer = choose(site, language="de", theme="dark")
    for name, value in (("theme", "dark"), ("language", "de")):
        (cookie,) = (line for line in answer.headers.getall("Set-Cookie") if f"modhub-{name}=" in line)
        assert cookie.startswith(f"__Host-modhub-{name}={value}; ")
        assert {"secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert '<html lang="de"' in site.get("/Modhub").text
    # Another host of the domain can set a cookie of the plain name: it chooses nothing.
    site.reset()
    site.set_cookie("modhub-theme", "dark")
    assert 'content="dark"' not in site.get("/Modhub").text
    choose(site, theme="dark")
    cookie = choose(site, theme="system").headers["Set-Cookie"]
    assert {"__Host-modhub-theme=", "secure", "Max-Age=0"} <= set(cookie.split("; ")), "browsers keep it otherwise"
