"""Sign-in with a game platform over OpenID 2.0, against a provider on loopback."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from sqlalchemy import delete, select, update

from modhub.audit.models import AuditEntry
from modhub.db import now, to_micros
from modhub_auth import tokens
from modhub_auth.container import AuthServices
from modhub_auth.mail import link_tokens
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.models import Account, Link, Login, PageSession
from modhub_auth.pages import sign_in as sign_in_pages
from modhub_auth.signin.passwords import HashingGate
from modhub_testing.pages import messages_on
from tests.people import add_authenticator, block, read, write

from .conftest import come_back, log_in, me, register, send, sign_up, token_of
from .openid_provider import SUBJECT

HOME = "/Modhub/account"
STEAM = f"{HOME}/platform/steam"


@pytest.fixture
def site(steam):
    return steam


def leave(site, path=STEAM):
    """Where the browser is sent."""
    return site.get(path, status=303).headers["Location"]


def sign_in(site, provider, subject=SUBJECT):
    return come_back(site, provider.assertion(leave(site), subject))


def link_login(site, provider, subject=SUBJECT, **proof):
    """Link a login of the platform to the account that is signed in."""
    way = send(site.get(f"{STEAM}/link"), 200, **proof).html.select_one(".ways a")["href"]
    return come_back(site, provider.assertion(way, subject))


def logins(site):
    return read(site, select(Login).order_by(Login.id))


def test_leaving_says_where_to_return(site, provider):
    # T-C14
    assert "next" not in leave(site, f"{STEAM}?next=//evil.example.org")
    address = urlsplit(leave(site, f"{STEAM}?next=/Modhub/mine"))
    wish = {name: values[0] for name, values in parse_qs(address.query).items()}
    assert f"{address.scheme}://{address.netloc}{address.path}" == provider.endpoint
    assert wish["openid.mode"] == "checkid_setup"
    assert wish["openid.realm"] == "http://127.0.0.1:6543"
    assert wish["openid.return_to"].startswith(f"http://127.0.0.1:6543{STEAM}?state=")
    assert wish["openid.return_to"].endswith("&next=%2FModhub%2Fmine")


def test_a_new_account_and_again(site, provider):
    # C-ACC-19
    assert sign_in(site, provider).headers["Location"] == HOME
    assert SUBJECT in site.get(HOME).text
    site.reset()
    again = come_back(site, provider.assertion(leave(site, f"{STEAM}?next=/Modhub/mine")))
    assert again.headers["Location"] == "/Modhub/mine"
    [login] = logins(site)
    assert (login.kind, login.subject, login.verified) == ("Platform", SUBJECT, True)
    [account] = read(site, select(Account))
    assert (account.kind, account.display_name) == ("Platform", f"Modder {account.id}")
    # The last login stays.
    site.post(f"{HOME}/unlink", {"csrf_token": token_of(site), "loginId": str(login.id)}, status=409)
    assert len(logins(site)) == 1


@pytest.mark.postgres
def test_of_many_replays_at_once_one_counts(site, provider):
    fields = provider.assertion(leave(site))
    cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in site.cookies.items())}
    target = urlsplit(fields["openid.return_to"])
    site.find_service(AuthServices).platforms["steam"]._gate = HashingGate()
    address = f"{target.path}?{target.query}&{urlencode(fields)}"
    browsers = [type(site)(site.config) for _ in range(6)]

    def visit(browser):
        return int(browser.get(address, headers=cookie, expect_errors=True).status_int)

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(visit, browsers)) == [303] + [403] * 5


def test_a_state_of_another_browser_is_refused(site, provider):
    fields = provider.assertion(leave(site))
    site.reset()
    leave(site)
    assert come_back(site, fields).status_int == 403
    assert provider.confirmed == []


def test_it_is_off_unless_switched_on(app):
    app.get(STEAM, status=404)
    app.get(f"{HOME}/platform", status=404)
    app.get(f"{HOME}/platform/other", status=404)
    assert "platform" not in app.get(f"{HOME}/login").text


def test_a_closed_registration_is_closed_here_too(site, provider, monkeypatch):
    sign_in(site, provider)
    site.reset()
    monkeypatch.setitem(site.registry.settings, "modhub_auth.registration", False)
    assert sign_in(site, provider, "7").status_int == 403
    assert sign_in(site, provider).status_int == 303


def test_linking_and_unlinking(site, provider, person, mail):
    mail.app = site
    register(site, person)
    send(site.get(mail.link()), 200)
    proof = {"currentPassword": person["password"]}
    assert link_login(site, provider, **proof).headers["Location"] == f"{HOME}?done=linked"
    assert [login.account_id for login in logins(site)] == [1, 1]
    site.reset()
    sign_in(site, provider)
    send(site.get(HOME).click("Unlink and sign out"), 303, **proof)
    assert [login.kind for login in logins(site)] == ["Password"]
    site.get(HOME, status=303)
    reported = [EMAIL_TEMPLATES[kind].subject for kind in ("login linked", "login unlinked")]
    assert [message["Subject"] for message in mail.read()[1:]] == reported


def test_a_login_of_another_account_is_not_linked(site, provider, person):
    sign_in(site, provider)
    site.reset()
    register(site, person)
    assert link_login(site, provider, currentPassword=person["password"]).status_int == 409
    assert len({login.account_id for login in logins(site)}) == 2


def test_a_platform_account_adds_a_password(site, provider, person, mail):
    # C-ACC-7, C-ACC-13, C-ACC-19
    mail.app = site
    sign_in(site, provider)
    assert messages_on(send(site.get(f"{HOME}/password"), 200, **person)) == ["check_email"]
    log_in(site, person, 401)
    [expires_at] = read(site, select(Link.expires_at).where(Link.purpose == "add"))
    assert abs(expires_at - now() - timedelta(days=7)) < timedelta(minutes=1)
    send(site.get(mail.link()), 200)
    with site.databases.write_session.begin() as session:
        late = link_tokens.create_link(
            session, link_tokens.ADD_PASSWORD_LINK, 1, address="eve@example.org", password_hash="x"
        )
    assert messages_on(send(site.get(f"{HOME}/confirm?token={late}"), 409)) == ["password_present"]
    assert "password added" in read(site, select(AuditEntry.action))  # C-AUD-1
    assert [login.kind for login in logins(site)] == ["Platform", "Password"]
    made = log_in(site, person)
    own = me(site, made)
    assert (own["kind"], own["subject"], own["verified"]) == ("Platform", SUBJECT, True)
    write(site, delete(Login).where(Login.kind == "Platform"))
    own = me(site, made)
    assert (own["kind"], own["subject"]) == ("Platform", "ada@example.org")


def test_an_address_with_an_account_is_reported_by_email_only(site, provider, person, mail):
    mail.app = site
    sign_up(site, person)
    sign_in(site, provider)
    texts, seen = [], []
    for email in (person["email"], "new@example.org"):
        form = site.get(f"{HOME}/password").forms[0]
        form["email"], form["password"] = email, person["password"]
        with site.counted() as statements:
            text = form.submit(status=200).text
        texts.append(text.replace(email, "").replace(form["csrf_token"].value, ""))
        seen.append(list(statements))
    assert seen[0] == seen[1], "the time must not tell either"
    assert texts[0] == texts[1]
    assert {message["Subject"] for message in mail.read()} == {
        EMAIL_TEMPLATES[kind].subject for kind in ("taken", "add")
    }


def test_the_second_factor_holds(site, provider):
    sign_in(site, provider)
    _, codes = add_authenticator(site)
    site.reset()
    page = sign_in(site, provider)
    assert page.status_int == 200
    site.get(HOME, status=303)
    page = send(page, 401, code="000000")
    site.extra_environ["REMOTE_ADDR"] = "203.0.113.7"
    assert send(page, 303, code=codes[0]).headers["Location"] == HOME
    assert "Recovery code used" in site.get(f"{HOME}/history")


def test_the_code_is_asked_for_ten_minutes_of_the_login_that_came_back(site, provider):
    # C-TOK-8: a database that lost its newest rows gives their numbers out again.
    sign_in(site, provider)
    site.reset()
    token, notes = token_of(site), site.find_service(AuthServices).notes
    login, time = logins(site)[0], now()

    def status(number, at, random_id=login.random_id):
        sealed = notes.encrypt(f"{at} {number} {random_id}", f"platform sign-in {token}")
        page = site.post(STEAM, {"pending": sealed, "code": "0", "csrf_token": token}, status="*")
        return int(page.status_int)

    minutes = [status(login.id, to_micros(time + timedelta(minutes=ahead))) for ahead in (1, 0, -9, -11)]
    # It came back in the future where the clock has been set back since.
    assert minutes == [403, 401, 401, 403]
    assert status(login.id, to_micros(time), "0" * 32) == 403


def test_another_site_links_and_proves_nothing_unasked(site, person):
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert site.get(STEAM, headers=elsewhere, status=303).headers["Location"].startswith("http://127.0.0.1")
    register(site, person)
    assert site.get(STEAM, headers=elsewhere, status=303).headers["Location"] == f"{STEAM}/link"
    prove = f"{STEAM}?prove=1"
    page = site.get(prove, headers=elsewhere, status=200)
    assert page.html.select_one(f"main a[href='{prove}']").text == "Continue"
    assert "openid.mode" in site.get(prove, headers={"Sec-Fetch-Site": "same-origin"}, status=303).headers["Location"]


def test_a_platform_proves_again_who_is_there(site, provider):
    sign_in(site, provider)
    write(site, update(PageSession).values(proved_at=now() - timedelta(minutes=11)))
    page = site.get(f"{HOME}/delete")
    assert page.html.select_one("main form") is None
    way = page.html.select_one(".ways a.button")["href"]
    assert come_back(site, provider.assertion(leave(site, way), "7")).status_int == 403
    answer = come_back(site, provider.assertion(leave(site, way)))
    assert answer.headers["Location"] == f"{HOME}/delete"
    site.get(f"{HOME}/delete").forms[0].submit(status=303)
    assert logins(site) == []


def test_a_platform_does_not_prove_what_an_authenticator_guards(site, provider):
    sign_in(site, provider)
    add_authenticator(site)
    write(site, update(PageSession).values(proved_at=None))
    assert come_back(site, provider.assertion(leave(site, f"{STEAM}?prove=1"))).status_int == 403
    assert site.get(f"{HOME}/delete").forms[0].submit(status=401).html.select_one("#code-error") is not None


def test_the_way_to_link_is_open_for_ten_minutes(site, provider, person, monkeypatch):
    register(site, person)
    page = send(site.get(f"{STEAM}/link"), 200, currentPassword=person["password"])
    fields = provider.assertion(page.html.select_one(".ways a")["href"])
    for late in (timedelta(minutes=11), timedelta(minutes=-1)):
        with monkeypatch.context() as patch:
            patch.setattr(tokens, "now", lambda late=late: now() + late)
            assert come_back(site, fields).status_int == 403
    # Whose session has ended gets no new account either.
    write(site, delete(PageSession))
    assert come_back(site, fields).status_int == 403
    assert [login.kind for login in logins(site)] == ["Password"]


def test_a_way_to_prove_or_to_sign_in_links_nothing(site, provider, person):
    register(site, person)
    way = leave(site, f"{STEAM}?prove=1")
    [return_to] = parse_qs(urlsplit(way).query)["openid.return_to"]
    for edited in (return_to, f"{return_to}00", return_to.partition("?")[0]):
        fields = provider.assertion(f"{provider.endpoint}?{urlencode({'openid.return_to': edited})}")
        assert come_back(site, fields).status_int == 403
    assert [login.kind for login in logins(site)] == ["Password"]


def test_codes_alone_are_counted_by_account(auth, provider):
    """Wherever a code is the whole proof, guesses from many places are guesses at one account."""
    site = auth(modhub_auth__steam="true", modhub_auth__steam_provider=provider.endpoint, modhub_auth__failures="3")
    sign_in(site, provider)
    _, codes = add_authenticator(site)
    write(site, update(PageSession).values(proved_at=None))
    for number in range(3):
        form = site.get(f"{HOME}/authenticator").forms[0]
        form["code"] = "000000"
        form.submit(status=401, extra_environ={"REMOTE_ADDR": f"192.0.2.{number}"})
    form["code"] = codes[0]
    form.submit(status=429, extra_environ={"REMOTE_ADDR": "192.0.2.99"})
    site.reset()
    form = sign_in(site, provider).forms[0]
    form["code"] = codes[0]
    form.submit(status=429, extra_environ={"REMOTE_ADDR": "192.0.2.100"})


def test_a_blocked_account_is_not_entered_by_its_platform(site, provider, monkeypatch):
    # C-APL-4: a feature may show the reasons, after the code.
    reasons = SimpleNamespace(find_reasons=lambda _request, account_id: f"/why?account={account_id}")
    monkeypatch.setattr(sign_in_pages, "find_optional_service", lambda *_: reasons)
    sign_in(site, provider)
    _, codes = add_authenticator(site)
    block(site, 1)
    page = sign_in(site, provider)
    assert "/why" not in page
    page = send(page, 403, code=codes[0])
    assert messages_on(page) == ["account_blocked"]
    assert [link["href"] for link in page.html.select("a[href^='/why']")] == ["/why?account=1"]
    site.get(HOME, status=303)
