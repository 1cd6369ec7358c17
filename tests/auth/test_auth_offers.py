"""Handing a mod over: offers, answers, and what the operator moves."""

from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import func, select, update

from modhub.audit.models import AuditEntry
from modhub.base.errors import ApiError, OwnershipLost
from modhub.db import now
from modhub.plugins.services import IMods
from modhub_auth import offers
from modhub_auth.models import Login, Offer, PublisherKey
from modhub_auth.personal_data import collect_account
from modhub_auth.services import lock_account, lock_accounts
from modhub_testing.mods import hide_mod
from modhub_testing.pages import form_at, messages_on
from tests.people import PASSWORD, actions, block, delete_person, emails_to, make_key, read, register, text_of, write
from tests.races import at_once

HOME = "/Modhub/account"
NOBODY = "nobody@example.org"


@pytest.fixture
def ada(app):
    return register(app, "Ada")


@pytest.fixture
def grace(app):
    return register(app, "Grace")


@pytest.fixture
def mod(ada):
    return ada.publish("Split Timer")


def offer(person, mod, account, status=303):
    form = form_of(person.pages.get(f"/Modhub/mine/{mod['id']}/offer"), "account")
    form["currentPassword"], form["account"] = PASSWORD, account
    return form.submit(status=status)


def form_of(page, field):
    return next(form for form in page.forms.values() if field in form.fields)


def workshop(person, mod):
    return person.pages.get(f"/Modhub/mine/{mod['id']}?part=details")


def offered(person):
    """The addresses of the offers on the account's page."""
    return [link["href"] for link in person.pages.get(HOME).html.select('a[href*="account/offer?"]')]


def answer(person, path, button, status=303):
    return form_of(person.pages.get(path), "accept").submit(button, status=status)


def withdraw(person, mod, status=303):
    form = form_at(workshop(person, mod), f"/Modhub/mine/{mod['id']}/offer")
    return form.submit("withdraw", status=status)


def owner_of(app, mod):
    details = app.post_json("/api/modhub/details", {"ids": [mod["id"]]}).json["details"]
    return int(details[0]["author"]["accountId"])


def subjects(person):
    """Those of the emails after the first, which is about the address."""
    return [str(message["Subject"]) for message in person.emails()[1:]]


def deeds(app):
    return [action for action in actions(app) if action.startswith("mod ")]


def test_a_mod_is_handed_over(app, ada, grace, mod):
    # C-OWN-50, C-OWN-53
    vote, here = f"/api/modhub/{mod['id']}/vote", f"/api/modhub/{mod['id']}"
    grace.call("put_json", vote, params={"value": 1})
    before, read = app.get(here).json, app.get(f"{here}/changelog").json
    offer(ada, mod, grace.address.upper())
    (path,) = offered(grace)
    assert "Ada" in grace.pages.get(path).text
    accepted = answer(grace, path, "accept").follow()
    assert "accepted" in messages_on(accepted)
    assert app.get(here).json == before
    assert app.get(f"{here}/changelog").json == read
    assert (owner_of(app, mod), app.get(vote).json) == (grace.id, {"ups": 0, "downs": 0})
    refused = ada.call("put_json", here, params={"title": "Mine"}, status=401)
    assert refused.body == ada.call("put_json", "/api/modhub/987654321", params={"title": "Mine"}, status=401).body
    grace.call("put_json", here, params={"title": "Split Timer 2"})
    grace.call("put_json", vote, params={"value": 1}, status=403)
    assert "Split Timer" in app.get(f"/Modhub/by/{grace.id}").text
    app.get(f"/Modhub/by/{ada.id}", status=404)
    assert subjects(ada) == ["You offered a mod to another account", "A mod was handed over"]
    assert subjects(grace) == ["A mod was offered to you", "A mod was handed over"]
    assert deeds(app)[-3:] == ["mod offered", "mod handed over", "mod edited"]
    grace.pages.get(path, status=410)


def test_nobody_learns_who_has_an_account(app, ada, grace, mod):
    # C-OWN-50, T-C22
    unconfirmed = register(app, "Linus")
    write(app, update(Login).where(Login.subject == unconfirmed.address).values(verified=False))
    pages, emails = set(), set()
    for named in (grace.address, NOBODY, unconfirmed.address, str(grace.id), "987654321"):
        made = offer(ada, mod, named)
        pages.add(_without_times(workshop(ada, mod).text.replace(f"\u2068{named}\u2069", "NAMED")))
        emails.add(_without_times(text_of(emails_to(app, ada.address, "You offered")[-1])))
        assert len(offered(grace)) == (named in (grace.address, str(grace.id)))
        assert messages_on(made.follow())[-1] == "offered"
        withdraw(ada, mod)
        write(app, update(Offer).values(created_at=now() - timedelta(days=1)))
    assert (len(pages), len(emails)) == (1, 1)
    assert not offered(unconfirmed)
    assert not emails_to(app, NOBODY)
    assert not emails_to(app, unconfirmed.address, "offered")


def _without_times(text):
    return "\n".join(
        line for line in text.splitlines() if "When:" not in line and "csrf" not in line and "nonce" not in line
    )


def test_the_recipient_declines_or_the_owner_withdraws(app, ada, grace, mod):
    # C-OWN-52, C-OWN-53
    offer(ada, mod, grace.address)
    (path,) = offered(grace)
    assert "declined" in messages_on(answer(grace, path, "decline").follow())
    grace.pages.get(path, status=410)
    offer(ada, mod, grace.address)
    (path,) = offered(grace)
    shown, stale = grace.pages.get(path), workshop(ada, mod)
    assert "withdrawn" in messages_on(withdraw(ada, mod).follow())
    form_of(shown, "accept").submit("accept", status=410)
    form_at(stale, f"/Modhub/mine/{mod['id']}/offer").submit("withdraw", status=410)
    assert owner_of(app, mod) == ada.id
    offered_by_her = "You offered a mod to another account"
    told = [offered_by_her, "The offer of a mod was declined", offered_by_her, "The offer of a mod was withdrawn"]
    assert subjects(ada) == told
    assert subjects(grace)[-1] == "The offer of a mod was withdrawn"
    assert deeds(app)[-4:] == ["mod offered", "mod offer declined", "mod offered", "mod offer withdrawn"]


def test_what_an_offer_needs(app, ada, grace, mod):
    # C-OWN-50
    here = f"/Modhub/mine/{mod['id']}/offer"
    for named, status in ((ada.address, 409), (str(ada.id), 409), ("nonsense", 400)):
        assert offer(ada, mod, named, status).html.select_one("#account-error")
    form = form_of(ada.pages.get(here), "account")
    form["account"] = grace.address
    assert "wrong_password" in messages_on(form.submit(status=403))
    offer(ada, mod, NOBODY)
    assert "already_offered" in messages_on(offer(ada, mod, grace.address, 409))
    for _ in range(4):
        withdraw(ada, mod)
        offer(ada, mod, NOBODY)
    withdraw(ada, mod)
    sixth = offer(ada, mod, grace.address, 429)
    assert 86_000 < int(sixth.headers["Retry-After"]) <= 86_400
    write(app, update(Offer).values(created_at=now() - timedelta(days=1)))
    offer(ada, mod, grace.address)
    draft = ada.draft("A draft")
    ada.pages.get(f"/Modhub/mine/{draft['id']}/offer", status=404)
    grace.pages.get(here, status=404)
    (path,) = offered(grace)
    ada.pages.get(path, status=410)
    grace.pages.get(f"{HOME}/offer?id=nonsense", status=410)


def hide(mod, ada):
    hide_mod(ada.site, mod)


def block_owner(_mod, ada):
    block(ada.site, ada.id)


def expire(_mod, ada):
    write(ada.site, update(Offer).values(expires_at=now()))


@pytest.mark.parametrize("change", [hide, block_owner, expire], ids=lambda change: change.__name__)
def test_an_offer_that_cannot_be_met_is_410(ada, grace, mod, change):
    # C-OWN-52
    offer(ada, mod, grace.address)
    (path,) = offered(grace)
    shown = grace.pages.get(path)
    change(mod, ada)
    assert not offered(grace)
    grace.pages.get(path, status=410)
    for button in ("accept", "decline"):
        assert form_of(shown, button).submit(button, status=410).html.select_one("h1")["data-message"] == "offer_gone"


def test_the_list_of_the_owner_outlives_the_account(app, ada, grace, mod):
    # C-OWN-50, C-OWN-54
    offer(ada, mod, grace.address)
    before = workshop(ada, mod).text
    delete_person(app, grace.id)
    assert _without_times(workshop(ada, mod).text) == _without_times(before)
    assert read(app, select(Offer.recipient_id)) == [None]
    delete_person(app, ada.id)
    assert app.count_rows(Offer) == 0


def test_races(app, ada, grace):
    # C-OWN-53
    services = app.find_service(IMods)

    def offer_of(title):
        mod_id = ada.publish(title)["id"]
        with app.databases.write_session.begin() as session:
            lock_account(session, ada.id)
            offers.make_offer(session, services, ada.id, mod_id, grace.address)
            return mod_id, session.scalars(select(func.max(Offer.id))).one()

    def accept(number, session):
        found = offers.find_offer(session, services, grace.id, number)
        lock_accounts(session, [found.owner_id, grace.id])
        offers.accept_offer(session, services, found, grace.id)

    def decline(number, session):
        found = offers.find_offer(session, services, grace.id, number)
        lock_accounts(session, [found.owner_id, grace.id])
        offers.decline_offer(session, found, grace.id)

    def withdraw(mod_id, session):
        lock_account(session, ada.id)
        offers.withdraw_offer(session, services, ada.id, mod_id)

    def ends(*calls):
        return sorted(at_once([partial(_ended, app, call) for call in calls]))

    _, number = offer_of("Accepted twice")
    assert ends(partial(accept, number), partial(accept, number)) == ["done", "offer_gone"]
    _, number = offer_of("Accepted and declined")
    assert ends(partial(accept, number), partial(decline, number)) == ["done", "offer_gone"]
    mod_id, number = offer_of("Accepted and withdrawn")
    assert ends(partial(accept, number), partial(withdraw, mod_id))[0] == "done"


def _ended(app, call):
    try:
        with app.databases.write_session.begin() as session:
            call(session)
    except ApiError as error:
        return error.code
    except OwnershipLost:
        return "not the owner"
    return "done"


def test_the_operator_moves_a_mod_at_once(app, ada, grace, mod, run):
    # C-OWN-54
    number, updated_at = str(mod["id"]), app.get(f"/api/modhub/{mod['id']}").json["updatedAt"]
    keys = [make_key(app, ada.id, mod_id) for mod_id in (mod["id"], None)]
    assert run("mod", "transfer", number, "99") == (1, "There is no account 99.\n")
    assert run("mod", "transfer", "99", str(grace.id)) == (1, "There is no mod 99.\n")
    assert "would be" in run("mod", "transfer", number, str(grace.id), "--dry-run")[1]
    offer(ada, mod, grace.address)
    (path,) = offered(grace)
    said = run("mod", "transfer", mod["guid"], str(register(app, "Linus").id))[1]
    assert f"Mod {number} (Split Timer) of account {ada.id} is account" in said
    assert not offered(grace)
    grace.pages.get(path, status=410)
    assert app.get(f"/api/modhub/{number}").json["updatedAt"] == updated_at
    statuses = [app.post_json("/api/auth/exchange", {"key": key}, expect_errors=True).status_int for key in keys]
    assert statuses == [401, 200]
    assert read(app, select(PublisherKey.mod_id)) == [None]
    assert read(app, select(Offer.id).where(Offer.closed_at.is_(None))) == []
    assert read(app, select(AuditEntry.actor_kind).where(AuditEntry.action == "mod handed over")) == ["operator"]
    assert run("mod", "transfer", str(ada.draft("A draft")["id"]), str(grace.id))[0] == 0
    assert len(grace.call("get", "/api/modhub/mine").json["mods"]) == 1


def test_the_archive_of_a_person_names_offers(app, ada, grace, mod):
    # C-OWN-54, C-DAT-2
    offer(ada, mod, grace.address)
    with app.databases.readonly_session() as session:
        made, received = (collect_account(session, person.id) for person in (ada, grace))
    assert made is not None
    assert received is not None
    (offered_by_ada,), (offered_to_grace,) = made.document["offersMade"], received.document["offersReceived"]
    assert (offered_by_ada["modId"], offered_by_ada["named"]) == (mod["id"], grace.address)
    assert (offered_to_grace["modId"], "named" in offered_to_grace) == (mod["id"], False)
    assert received.document["offersMade"] == made.document["offersReceived"] == []
