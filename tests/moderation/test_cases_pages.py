"""The pages of cases, decisions and appeals, as moderators and as those whom they concern use them."""

import hashlib

import pytest
from sqlalchemy import update

from modhub.db import now
from modhub_auth.models import Account
from modhub_moderation.cases.models import Decision
from modhub_testing.pages import form_at, messages_on, new_visitor
from tests.people import actions, text_of, write

from .advisory_site import listed
from .cases_kit import FACTS, NOTICE, STRANGER, appeal_link, hashed, make_case, rule
from .conftest import make_moderator

pytestmark = pytest.mark.slow
CASES = "/Modhub/moderation/cases"
HIDE = {"kind": "hide", "basis": "terms", "clause": "§ 4", "facts": FACTS}


def send(person, path, status=303, **fields):
    """Fill and send the form to decide on the page of a case."""
    form = form_at(person.pages.get(path), path)
    for name, value in fields.items():
        form[name] = value
    return form.submit(status=status)


def kinds_at(page, path):
    """What can be decided there."""
    return [value for value, _, _ in form_at(page, path)["kind"].options]


def statement_to(person):
    return text_of(person.emails("decision about")[-1])


@pytest.mark.postgres
def test_a_moderator_reads_and_decides(site, ada, bob, mo, mod):
    # C-CAS-3, C-CAS-6
    case = f"{CASES}/{make_case(site, ada, mod, reporter=bob, stranger=True)}"
    shown = mo.pages.get(case)
    assert kinds_at(shown, case) == ["hide", "remove", "block", "delete", "dismiss"]
    for words in (NOTICE, "Bob", STRANGER, "Malware", "Ada", "published"):
        assert words in shown
    assert "Tick the box" in send(mo, case, 400, **{**HIDE, "kind": "delete"})
    assert "2026-12-31" in send(mo, case, 400, **{**HIDE, "until": "soon"})
    kept = send(mo, case, 400, **{**HIDE, "basis": ""})
    assert messages_on(kept) == ["invalid_input"]
    assert form_at(kept, case)["facts"].value.strip() == FACTS
    decided = send(mo, case, **HIDE).follow()
    assert messages_on(decided) == ["decided"]
    assert kinds_at(decided, case) == ["hide", "remove", "block", "delete", "release"]
    old = form_at(decided, case)
    send(mo, case, kind="release", facts="A mistake.")
    for name, value in HIDE.items():
        old[name] = value
    assert messages_on(old.submit(status=409)) == ["decided_already"]
    site.get(f"/Modhub/{mod['id']}", status=200)
    for absent in ("999", "x"):
        mo.pages.get(f"{CASES}/{absent}", status=404)


def test_a_part_is_chosen_from_what_there_is(site, ada, mo):
    # C-CAS-5
    mod = ada.publish("Tool", version="1.0", images=1)
    case = f"{CASES}/{make_case(site, ada, mod)}"
    values = {value for value, _, _ in form_at(mo.pages.get(case), case)["part"].options}
    assert {"changelog:1.0", "description:", "author_name:"} <= values
    (image,) = [value for value in values if value.startswith("image:")]
    address = f"/Modhub/file/{image.removeprefix('image:')}"
    site.get(address, status=200)
    send(mo, case, **{**HIDE, "kind": "remove", "part": image})
    site.get(address, status=404)
    send(mo, case, kind="release", facts="A mistake.")
    site.get(address, status=200)


def test_a_case_is_opened_on_own_initiative(site, ada, mo, mod):
    # C-CAS-2
    page = mo.pages.get(CASES)

    def open_case(kind, number, status=303):
        form = form_at(page, CASES)
        form["kind"], form["number"] = kind, str(number)
        return form.submit(status=status).location

    open_case("mod", 999, 400)
    open_case("account", mo.id, 403)
    of_mod, again, of_account = open_case("mod", mod["id"]), open_case("mod", mod["id"]), open_case("account", ada.id)
    assert of_mod == again != of_account
    assert actions(site)[-2:] == ["case opened"] * 2
    assert "The account “Ada”" in mo.pages.get(of_account)
    assert "Tool" in mo.pages.get(CASES)


def test_nobody_decides_about_their_own_and_is_told_who_reported_it(site, bob, mo):
    # C-CAS-1, C-CAS-7
    case = f"{CASES}/{make_case(site, mo, mo.publish('Mine'), reporter=bob, stranger=True)}"
    page = mo.pages.get(case)
    assert messages_on(page) == ["own_case"]
    assert case not in {form.action for form in page.forms.values()}
    other = make_moderator(site, "Otto")
    for path in (case, "/Modhub/moderation/queue"):
        shown = mo.pages.get(path).text
        for words in (NOTICE, "Bob", STRANGER, f"/Modhub/by/{bob.id}", "without an account"):
            assert words not in shown
        assert "Bob" in other.pages.get(path)


@pytest.mark.postgres
def test_the_owner_reads_the_statement_and_appeals(site, ada, bob, mo, mod):
    # C-CAS-6, C-APL-1
    case_id = make_case(site, ada, mod, reporter=bob)
    decision = rule(site, case_id, "hide", mo)
    path = f"/Modhub/decisions/{decision}"
    for leads in (f"/Modhub/mine/{mod['id']}", "/Modhub/decisions"):
        assert path in ada.pages.get(leads).text
    assert "/Modhub/decisions" in ada.pages.get("/Modhub/account").text
    page = ada.pages.get(path)
    for words in (FACTS, "our terms: § 4", "Malware"):
        assert words in page
    for words in (NOTICE, "Bob", bob.address, mo.address):
        assert words not in page
    # To all others there is no such decision: the same answer as for one that does not exist.
    theirs, absent = bob.pages.get(path, status="*"), bob.pages.get("/Modhub/decisions/999", status="*")
    assert (theirs.status_int, len(theirs.text)) == (absent.status_int, len(absent.text))
    assert theirs.status_int != 200
    refused = ada.press(path, path, status=400, text=" ")
    assert refused.html.find(id="errors").a["href"] == "#text"
    assert refused.html.find(id="text")["aria-invalid"] == "true"
    assert "An appeal is free of charge" in refused
    page = ada.press(path, path, text="It is a test of keyboards.").follow()
    assert messages_on(page) == ["appealed", "open_appeal"]
    assert path not in {form.action for form in page.forms.values()}
    other = make_moderator(site, "Otto")
    case = f"{CASES}/{case_id}"
    assert messages_on(mo.pages.get(case)) == ["same_moderator"]
    # Otto counts only while he could decide.
    block = update(Account).where(Account.id == other.id)
    for statement, shown in (
        (block.values(blocked_at=now()), []),
        (block.values(blocked_at=None), ["same_moderator"]),
    ):
        write(site, statement)
        assert messages_on(mo.pages.get(case)) == shown
    shown = other.pages.get(case)
    assert "It is a test of keyboards." in shown
    form = next(form for form in shown.forms.values() if "/appeals/" in form.action)
    form["outcome"], form["reasons"] = "reversed", " "
    refused = form.submit(status=400)
    assert messages_on(refused) == ["invalid_input"]
    assert form_at(refused, form.action)["outcome"].value == "reversed"
    form["reasons"] = "We looked at it together."
    assert messages_on(form.submit(status=303).follow()) == ["appeal_decided"]
    assert messages_on(form.submit(status=409)) == ["decided_already"]
    site.get(f"/Modhub/{mod['id']}", status=200)
    assert messages_on(ada.pages.get(path)) == ["replaced", "reversed"]


def test_the_only_moderator_decides_the_appeal(site, ada, mo, case_id):
    # C-APL-2
    decision = rule(site, case_id, "hide", mo)
    path = f"/Modhub/decisions/{decision}"
    ada.press(path, path, text="It is a test of keyboards.")
    page = mo.pages.get(f"{CASES}/{case_id}")
    form = next(form for form in page.forms.values() if "/appeals/" in form.action)
    form["outcome"], form["reasons"] = "upheld", "It logs keys."
    form.submit(status=303)
    assert messages_on(ada.pages.get(path)) == ["upheld"]


def test_a_blocked_account_appeals_by_the_link(site, ada, mo):
    # C-APL-3
    rule(site, make_case(site, ada), "block", mo)
    link = appeal_link(statement_to(ada))
    visitor = new_visitor(site)
    page = visitor.get(link)
    assert FACTS in page
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cache-Control"] == "no-store"
    form = form_at(page, "/Modhub/appeal")
    form["text"] = "x" * 2001
    form = form_at(form.submit(status=400), "/Modhub/appeal")
    form["text"] = "It was my brother."
    page = form.submit(status=303).follow()
    assert messages_on(page) == ["appealed", "open_appeal"]
    assert messages_on(form.submit(status=409))[0] == "appealed_already"
    for wrong in (link[:-1], "/Modhub/appeal"):
        visitor.get(wrong, status=404)


def test_the_link_is_of_one_decision(site, ada, mo, case_id):
    # C-APL-3, T-C19
    first = rule(site, case_id, "hide", mo)
    old = appeal_link(statement_to(ada))
    rule(site, case_id, "delete", mo, first)
    assert "mod deleted by a moderator" in actions(site)
    secret = old.partition("token=")[2]
    with site.databases.readonly_session() as session:
        assert session.get_one(Decision, first).appeal_hash == hashed(secret)
    assert len(secret) >= 43  # 256 bits
    page = new_visitor(site).get(old)
    assert messages_on(page) == ["replaced"]
    assert "/Modhub/appeal" not in {form.action for form in page.forms.values()}
    new = new_visitor(site).get(appeal_link(statement_to(ada)))
    assert "/Modhub/appeal" in {form.action for form in new.forms.values()}


def test_files_that_are_ticked_get_an_advisory(site, ada, bob, mo):
    # C-ADV-1
    library, evil = b"a library that many share", b"an evil program"
    mod, other = ada.draft("Tool"), bob.draft("Kit")
    for person, own, version, data in ((ada, mod, "1", library), (ada, mod, "2", evil), (bob, other, "1", library)):
        person.upload(own, version, data)
    digest = hashlib.sha256(evil).hexdigest()
    case = f"{CASES}/{make_case(site, ada, mod)}"
    page = mo.pages.get(case)
    assert "Also here: Kit" in " ".join(page.html.get_text(" ").split())
    assert not any(box.checked for box in form_at(page, case).fields["advise"])
    words = {"advisoryReason": "It logs keys.", "advice": "Delete it."}
    advise(mo, case, digest, 400, **{**HIDE, "kind": "dismiss", **words})
    advise(mo, case, digest, 400, **HIDE)
    advise(mo, case, digest, 303, **HIDE, **words)
    (made,) = site.get("/api/modhub/advisories").json["advisories"]
    facts = made["sha256"], made["kind"], made["reason"], made["withdrawnAt"]
    assert facts == (digest, "malware", "It logs keys.", None)
    send(mo, case, **{**HIDE, "kind": "block"})
    assert listed(site, digest)[0]["withdrawnAt"] is None
    send(mo, case, kind="unblock", facts="A mistake.")
    assert listed(site, digest)[0]["withdrawnAt"] is not None


def advise(moderator, case, digest, status, **fields):
    form = form_at(moderator.pages.get(case), case)
    for box in form.fields["advise"]:
        box.checked = box._value == digest
    for name, value in fields.items():
        form[name] = value
    form.submit(status=status)
