"""Expired rows are deleted, also of accounts that never come back."""

from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from modhub.db import now
from modhub_auth.models import ClientSession, DeviceCode, Offer, PageSession
from modhub_auth.signin import sessions
from modhub_testing.workers import run_worker
from tests.people import register, write

pytestmark = pytest.mark.slow


def count(app):
    return [app.count_rows(model) for model in (ClientSession, PageSession, DeviceCode, Offer)]


def lapse(app, account_id, left=timedelta()):
    """Let all sessions of the account expire in ``left``, and a device code and an offer, which are made for it."""
    used = now() - timedelta(hours=12) + left
    expires = {"expires_at": now() + left}
    write(app, update(ClientSession).where(ClientSession.account_id == account_id).values(expires))
    write(app, update(PageSession).where(PageSession.account_id == account_id).values(used_at=used))
    hashes = {"device_hash": f"d{account_id}", "user_hash": f"u{account_id}"}
    write(app, insert(DeviceCode).values(**hashes, label="", address="", **expires))
    write(app, insert(Offer).values(mod_id=1, owner_id=account_id, named="", created_at=used, **expires))


def test_expired_sessions_codes_and_offers_are_deleted(app):
    # C-ACC-31, C-OWN-54
    ada, eve = (register(app, name) for name in ("Ada", "Eve"))
    _ = ada.pages, eve.pages
    lapse(app, ada.id)
    lapse(app, eve.id, timedelta(minutes=1))
    assert run_worker(app.registry, "old emails")
    assert count(app) == [1, 1, 1, 1]
    eve.pages.get("/Modhub/account", status=200)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_what_somebody_holds_is_passed_over(app):
    """SQLite has one writer, so no other transaction can hold a row."""
    ada = register(app, "Ada")
    ada.pages.reset()
    lapse(app, ada.id)
    databases = app.databases
    with databases.write_session.begin() as holder, databases.write_session.begin() as session:
        holder.execute(select(ClientSession.id).order_by(ClientSession.id).limit(1).with_for_update())
        sessions.delete_expired_sessions(session)
    assert count(app) == [1, 0, 0, 0]
