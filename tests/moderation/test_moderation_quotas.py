"""Quotas: how many mods, bytes and uploads an hour an account may have (C-QUO)."""

from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import select, update

from modhub.catalogue.models import Mod
from modhub.catalogue.owning import views
from modhub.content.limits import MB
from modhub.db import now
from modhub_auth.models import Account
from modhub_moderation import quotas
from modhub_moderation.quotas import CountedUpload
from modhub_testing.pages import form_at, make_mod_by_form, send_file_by_form
from tests.people import PNG, delete_person, register, write
from tests.races import at_once

from . import conftest

pytestmark = pytest.mark.slow

CALLERS = 6
KEY = {"Idempotency-Key": "one"}


@pytest.fixture
def begin(start, monkeypatch):
    """``begin(quota_mods=3)``: an application with these settings, which it reads at each call.

    All tests share one, whose hashes take no time.
    """

    def start_with(**settings):
        site = conftest.begin(start, monkeypatch, "modhub_auth modhub_moderation")
        for name, value in settings.items():
            monkeypatch.setitem(site.registry.settings, f"modhub_moderation.{name}", value)
        return site

    return start_with


def create(person, status=201, **more):
    headers = {**person.bearer, **more}
    return person.site.post_json("/api/modhub", {"title": "A mod"}, headers=headers, status=status).json


def upload(person, mod, query="images", *, size=10, status=201, **more):
    headers = {**person.bearer, **more}
    return person.site.post(f"/api/modhub/{mod['id']}/{query}", b"x" * size, headers=headers, status=status)


def uploads_of(site, *people):
    """How many uploads of the last hour count for each of them."""
    with site.databases.readonly_session() as session:
        return [quotas.count_uploads(session, person.id) for person in people]


def age_uploads(site, by):
    with site.databases.write_session.begin() as session:
        for row in session.scalars(select(CountedUpload)):
            row.at -= by


def test_mods_have_a_limit_that_deletion_frees(begin):
    # C-QUO-1, C-QUO-2
    site = begin(quota_mods=2)
    ada = register(site, "Ada")
    mod = create(ada)
    create(ada, **KEY)
    refused = create(ada, 403)
    assert (refused["error"], refused["limit"], refused["used"]) == ("quota", 2, 2)
    # What was done is answered again.
    create(ada, **KEY)
    create(register(site, "Bob"))
    ada.call("delete", f"/api/modhub/{mod['id']}", status=204)
    create(ada)


def test_files_have_a_limit_that_names_what_is_used(begin, monkeypatch):
    # C-QUO-3
    site = begin(quota_megabytes=3)
    ada = register(site, "Ada")
    mod, another = create(ada), create(ada)
    upload(ada, mod, "code?version=1", size=2 * MB)
    refused = upload(ada, another, "code?version=1", size=MB + 1, status=413).json
    assert (refused["error"], refused["limitBytes"], refused["usedBytes"]) == ("too_large", 3 * MB, 2 * MB)
    upload(ada, mod, "code?version=1.1", size=2 * MB + 1)
    upload(ada, mod, "code?version=1.2", size=2 * MB)
    upload(ada, another, "code?version=1", size=MB)
    upload(ada, another, status=413)
    # What replaces a file counts without it, and one that is not larger is always stored.
    upload(ada, mod, "code?version=2", size=2 * MB + 1, status=413)
    upload(ada, mod, "code?version=2", size=2 * MB)
    monkeypatch.setitem(site.registry.settings, "modhub_moderation.quota_megabytes", 1)
    upload(ada, mod, "code?version=3", size=2 * MB - 1)
    assert uploads_of(site, ada) == [0]


@pytest.mark.postgres
def test_uploads_within_an_hour_have_a_limit(begin, monkeypatch):
    # C-QUO-4
    site = begin(quota_uploads=2)
    ada = register(site, "Ada")
    mod = create(ada)
    upload(ada, mod, "code?version=1")
    upload(ada, mod, "code?version=1", status=409)  # what is refused does not count
    age_uploads(site, timedelta(minutes=40))
    first = upload(ada, mod, **KEY).json
    assert upload(ada, mod, **KEY).json["assets"] == first["assets"], "what was done is answered again"
    with monkeypatch.context() as patch:
        patch.setattr(views, "receive_upload", lambda *_: pytest.fail("the body was read"))
        answer = upload(ada, mod, status=429)
    assert (answer.json["error"], answer.json["limit"]) == ("quota", 2)
    assert 19 * 60 < answer.json["retryAfterSeconds"] <= 20 * 60
    assert answer.headers["Retry-After"] == str(answer.json["retryAfterSeconds"])
    assert "20 min" in answer.json["message"]
    age_uploads(site, timedelta(minutes=20))
    upload(ada, mod)
    assert uploads_of(site, ada) == [2]


@pytest.mark.postgres
def test_new_accounts_make_so_many_mods_a_day_until_they_are_older(begin):
    # C-QUO-5
    site = begin(new_days=7, new_mods=2)
    ada = register(site, "Ada")
    first = create(ada)
    create(ada)

    def date(model, number, ago):
        write(site, update(model).where(model.id == number).values(created_at=now() - ago))

    date(Mod, first["id"], timedelta(hours=20))
    refused = create(ada, 429)
    assert (refused["error"], refused["limit"]) == ("quota", 2)
    assert 3 * 3600 < refused["retryAfterSeconds"] <= 4 * 3600
    assert "2 of 2. Try again in 4 h." in refused["message"]
    date(Mod, first["id"], timedelta(hours=25))
    create(ada)
    create(ada, 429)
    date(Account, ada.id, timedelta(days=7, seconds=1))
    create(ada)


@pytest.mark.postgres
@pytest.mark.usefixtures("patience")
def test_calls_at_once_do_not_get_beyond_a_limit(begin, monkeypatch):
    # C-QUO-1, C-QUO-2, C-QUO-4
    ada = register(begin(quota_mods=CALLERS + 2, quota_megabytes=1), "Ada")
    mods = [create(ada) for _ in range(CALLERS)]

    def outcomes(calls):
        return Counter(answer.status_int for answer in at_once(calls))

    one_more = partial(ada.call, "post_json", "/api/modhub", params={"title": "One more"}, status="*")
    assert outcomes([one_more] * CALLERS) == {201: 2, 403: CALLERS - 2}
    sent = [partial(upload, ada, mod, "code?version=1", size=MB // 2, status="*") for mod in mods]
    assert outcomes(sent) == {201: 2, 413: CALLERS - 2}
    for setting, limit in (("quota_megabytes", 9), ("quota_uploads", 2)):
        monkeypatch.setitem(ada.site.registry.settings, f"modhub_moderation.{setting}", limit)
    assert outcomes([partial(upload, ada, mod, status="*") for mod in mods]) == {201: 2, 429: CALLERS - 2}


def test_the_workshop_shows_what_is_used_and_forms_say_what_is_refused(begin):
    site = begin(quota_mods=1, quota_megabytes=1, quota_uploads=2, new_days=9, new_mods=3)
    visitor = register(site, "Ada").pages
    page = make_mod_by_form(visitor)
    send_file_by_form(page, "images", "a.png", PNG).follow(status=200)
    shown = visitor.get("/Modhub/mine")
    figures = [item.text for item in shown.html.select("section[aria-labelledby=quota] dd")]
    assert figures == ["1 of 1", "8 bytes of 1\xa0MB", "1 of 2"]
    day = now() + timedelta(days=9)
    assert f"3 mods a day until {day.day} {day:%B %Y}." in shown
    form = form_at(visitor.get("/Modhub/mine/new"), "/Modhub/mine/new")
    form["title"] = "Kept"
    refused = form.submit(status=403)
    assert "it has 1 of 1." in refused
    assert form_at(refused, "/Modhub/mine/new")["title"].value == "Kept"
    too_large = send_file_by_form(page, "code", "a.zip", b"x" * MB, version="1.0")
    assert "take up 1 of 1 MB" in too_large.html.select_one("#code-file-error").text


@pytest.mark.postgres
def test_what_is_counted_goes_with_the_hour_and_the_account(begin):
    # C-QUO-4
    site = begin(quota_uploads=9)
    ada, bob = register(site, "Ada"), register(site, "Bob")
    for person in (ada, bob):
        upload(person, create(person))
    delete_person(site, ada.id)
    quotas.purge_uploads(site.registry)
    assert uploads_of(site, ada, bob) == [0, 1]
    age_uploads(site, quotas.UPLOAD_WINDOW)
    quotas.purge_uploads(site.registry)
    assert site.count_rows(CountedUpload) == 0
