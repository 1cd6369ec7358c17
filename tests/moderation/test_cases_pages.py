"""The pages of cases, decisions and appeals, as moderators and as those whom they concern use them."""

import hashlib
from typing import Any

import pytest
from sqlalchemy import delete, insert, update

from modhub.db import now
from modhub_auth.models import Account, Authenticator
from modhub_moderation.cases.models import Decision, DecisionKind
from modhub_testing import Site
from modhub_testing.pages import form_at, messages_on, new_visitor
from tests.people import Person, text_of

from .cases_kit import FACTS, NOTICE, STRANGER, appeal_link, make_case, rule, ruling_of
from .conftest import make_moderator

pytestmark = pytest.mark.slow
CASES = "/Modhub/moderation/cases"
HIDE = {"kind": "hide", "basis": "terms", "clause": "§ 4", "facts": FACTS}


def send(person: Person, path: str, status: int = 303, **fields: str) -> Any:
    """Fill and send the form to decide on the page of a case."""
    form = form_at(person.pages.get(path), path)
    for name, value in fields.items():
        form[name] = value
    return form.submit(status=status)


def kinds_at(page: Any, path: str) -> list[str]:
    """What can be decided there."""
    return [value for value, _, _ in form_at(page, path)["kind"].options]


def statement_to(person: Person) -> str:
    return [text_of(message) for message in person.emails() if "decision about" in message["Subject"]][-1]


@pytest.mark.postgres
def test_a_moderator_reads_and_decides(site: Site, ada: Person, bob: Person, mo: Person) -> None:
    # C-CAS-3, C-CAS-6
    mod = ada.publish("Tool")
    case = f"{CASES}/{make_case(site, ada, mod, reporter=bob, stranger=True)}"
    assert kinds_at(mo.pages.get(case), case) == ["hide", "remove", "block", "delete", "dismiss"]
    shown = mo.pages.get(case).text
    for words in (NOTICE, "Bob", STRANGER, "Malware", "Ada", "published"):
        assert words in shown
    assert [messages_on(send(mo, case, 400, **{**HIDE, "clause": ""}))] == [["invalid_input"]]
    assert "Tick the box" in send(mo, case, 400, **{**HIDE, "kind": "delete"})
    assert "2026-12-31" in send(mo, case, 400, **{**HIDE, "until": "soon"})
    kept = send(mo, case, 400, **{**HIDE, "basis": ""})
    assert form_at(kept, case)["facts"].value.strip() == FACTS
    decided = send(mo, case, **HIDE).follow()
    assert messages_on(decided) == ["decided"]
    site.get(f"/Modhub/{mod['id']}", status=404)
    assert kinds_at(decided, case) == ["hide", "remove", "block", "delete", "release"]
    old = form_at(decided, case)
    send(mo, case, kind="release", facts="A mistake.")
    site.get(f"/Modhub/{mod['id']}", status=200)
    for name, value in HIDE.items():
        old[name] = value
    assert messages_on(old.submit(status=409)) == ["decided_already"]
    mo.pages.get(f"{CASES}/999", status=404)
    mo.pages.get(f"{CASES}/x", status=404)


def test_a_part_is_chosen_from_what_there_is(site: Site, ada: Person, mo: Person) -> None:
    # C-CAS-5
    mod = ada.publish("Tool", version="1.0")
    png = b"\x89PNG\r\n\x1a\n" + bytes(30)
    headers = {"Authorization": f"Bearer {ada.token}", "Content-Type": "image/png"}
    site.post(f"/api/modhub/{mod['id']}/images?name=a.png", png, headers=headers, status=201)
    case = f"{CASES}/{make_case(site, ada, mod)}"
    form = form_at(mo.pages.get(case), case)
    values = {value for value, _, _ in form["part"].options}
    assert {"changelog:1.0", "description:", "author_name:"} <= values
    (image,) = [value for value in values if value.startswith("image:")]
    address = f"/Modhub/file/{image.removeprefix('image:')}"
    site.get(address, status=200)
    send(mo, case, **{**HIDE, "kind": "remove", "part": image})
    site.get(address, status=404)
    send(mo, case, kind="release", facts="A mistake.")
    site.get(address, status=200)


def test_a_case_is_opened_on_own_initiative(site: Site, ada: Person, mo: Person) -> None:
    # C-CAS-2
    mod = ada.publish("Tool")
    page = mo.pages.get(CASES)
    assert "There is no case." in page
    for kind, number, status in (("mod", "999", 400), ("mod", "x", 400), ("account", str(mo.id), 403)):
        form = form_at(page, CASES)
        form["kind"], form["number"] = kind, number
        form.submit(status=status)
    numbers = []
    for kind, number in (("mod", str(mod["id"])), ("mod", str(mod["id"])), ("account", str(ada.id))):
        form = form_at(page, CASES)
        form["kind"], form["number"] = kind, number
        numbers.append(form.submit(status=303).location.rsplit("/", 1)[1])
    assert numbers[0] == numbers[1] != numbers[2]
    assert "The account “Ada”" in mo.pages.get(f"{CASES}/{numbers[2]}")
    assert "Tool" in mo.pages.get(CASES)


def test_nobody_decides_about_their_own(site: Site, mo: Person) -> None:
    # C-CAS-1
    case = f"{CASES}/{make_case(site, mo, mo.publish('Mine'))}"
    page = mo.pages.get(case)
    assert messages_on(page) == ["own_case"]
    assert case not in {form.action for form in page.forms.values()}


def test_a_moderator_is_not_told_who_reported_them(site: Site, bob: Person, mo: Person) -> None:
    # C-CAS-7
    case_id = make_case(site, mo, mo.publish("Mine"), reporter=bob, stranger=True)
    other = make_moderator(site, "Otto")
    for path in (f"{CASES}/{case_id}", "/Modhub/moderation/queue"):
        shown = mo.pages.get(path).text
        for words in (NOTICE, "Bob", STRANGER, f"/Modhub/by/{bob.id}", "without an account"):
            assert words not in shown
        assert "Bob" in other.pages.get(path)


@pytest.mark.postgres
def test_the_owner_reads_the_statement_and_appeals(site: Site, ada: Person, bob: Person, mo: Person) -> None:
    # C-CAS-6, C-APL-1
    mod = ada.publish("Tool")
    case_id = make_case(site, ada, mod, reporter=bob)
    assert "Decisions by our moderators" not in ada.pages.get("/Modhub/account")
    decision = rule(site, case_id, ruling_of(DecisionKind.HIDE), mo)
    path = f"/Modhub/decisions/{decision}"
    assert path in ada.pages.get(f"/Modhub/mine/{mod['id']}").text
    assert path in ada.pages.get("/Modhub/decisions").text
    assert "/Modhub/decisions" in ada.pages.get("/Modhub/account").text
    page = ada.pages.get(path)
    assert page.headers["Cache-Control"] == "no-store"
    for words in (FACTS, "our terms: § 4", "Malware"):
        assert words in page
    for words in (NOTICE, "Bob", bob.address, "Mo", mo.address):
        assert words not in page.text.replace("Modhub", "").replace("Moderat", "").replace("Mods", "").replace(
            "Mod<", ""
        )
    # To all others there is no such decision: the same answer as for one that does not exist.
    theirs, absent = bob.pages.get(path, status="*"), bob.pages.get("/Modhub/decisions/999", status="*")
    assert (theirs.status_int, len(theirs.text)) == (absent.status_int, len(absent.text))
    assert theirs.status_int != 200
    refused = ada.press(path, path, status=400, text=" ")
    assert "Error" in refused
    assert refused.html.find(id="errors").a["href"] == "#text"
    assert refused.html.find(id="text")["aria-invalid"] == "true"
    assert refused.html.find(id="text-error") is not None
    assert "An appeal is free of charge" in refused
    page = ada.press(path, path, text="It is a test of keyboards.").follow()
    assert "An appeal is free of charge" not in page
    assert messages_on(page) == ["appealed", "open_appeal"]
    assert path not in {form.action for form in page.forms.values()}
    other = make_moderator(site, "Otto")
    case = f"{CASES}/{case_id}"
    assert messages_on(mo.pages.get(case)) == ["same_moderator"]
    # Otto counts only while he could decide.
    account, factor = Account.id == other.id, Authenticator.account_id == other.id
    again = {"account_id": other.id, "sealed": "x", "last_step": 0, "created_at": now()}
    for statement, shown in (
        (update(Account).where(account).values(blocked_at=now()), []),
        (update(Account).where(account).values(blocked_at=None), ["same_moderator"]),
        (delete(Authenticator).where(factor), []),
        (insert(Authenticator).values(again), ["same_moderator"]),
    ):
        with site.databases.write_session.begin() as session:
            session.execute(statement)
        assert messages_on(mo.pages.get(case)) == shown
    shown = other.pages.get(case)
    assert "It is a test of keyboards." in shown
    form = next(form for form in shown.forms.values() if "/appeals/" in form.action)
    form["outcome"], form["reasons"] = "reversed", " "
    refused = form.submit(status=400)
    assert messages_on(refused) == ["invalid_input"]
    assert refused.html.select_one("#errors a")["href"] == "#appeal"
    assert refused.html.find(id="appeal") is not None
    assert form_at(refused, form.action)["outcome"].value == "reversed"
    form["reasons"] = "We looked at it together."
    assert messages_on(form.submit(status=303).follow()) == ["appeal_decided"]
    assert messages_on(form.submit(status=409)) == ["decided_already"]
    site.get(f"/Modhub/{mod['id']}", status=200)
    assert messages_on(ada.pages.get(path)) == ["replaced", "reversed"]
    assert "/Modhub/moderation/appeals/1" in form.action
    mo.pages.get("/Modhub/moderation/appeals/1", status=405)


def test_the_only_moderator_decides_the_appeal(site: Site, ada: Person, mo: Person) -> None:
    # C-APL-2
    case_id = make_case(site, ada, ada.publish("Tool"))
    decision = rule(site, case_id, ruling_of(DecisionKind.HIDE), mo)
    path = f"/Modhub/decisions/{decision}"
    ada.press(path, path, text="It is a test of keyboards.")
    page = mo.pages.get(f"{CASES}/{case_id}")
    form = next(form for form in page.forms.values() if "/appeals/" in form.action)
    form["outcome"], form["reasons"] = "upheld", "It logs keys."
    form.submit(status=303)
    assert messages_on(ada.pages.get(path)) == ["upheld"]


def test_a_blocked_account_appeals_by_the_link(site: Site, ada: Person, mo: Person) -> None:
    # C-APL-3
    case_id = make_case(site, ada)
    ada.pages.get("/Modhub/mine", status=200)
    decision = rule(site, case_id, ruling_of(DecisionKind.BLOCK), mo)
    ada.pages.get(f"/Modhub/decisions/{decision}", status="3*")
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
    for wrong in (link[:-1], f"{link}x", "/Modhub/appeal", "/Modhub/appeal?token="):
        visitor.get(wrong, status=404)
    with site.databases.readonly_session() as session:
        assert session.get_one(Account, ada.id).blocked_at is not None


def test_the_link_is_of_one_decision(site: Site, ada: Person, mo: Person) -> None:
    # C-APL-3, T-C19
    case_id = make_case(site, ada, ada.publish("Tool"))
    first = rule(site, case_id, ruling_of(DecisionKind.HIDE), mo)
    old = appeal_link(statement_to(ada))
    rule(site, case_id, ruling_of(DecisionKind.DELETE), mo, first)
    secret = old.partition("token=")[2]
    with site.databases.readonly_session() as session:
        assert session.get_one(Decision, first).appeal_hash == hashlib.sha256(secret.encode()).hexdigest()
    assert len(secret) >= 43  # 256 bits
    page = new_visitor(site).get(old)
    assert messages_on(page) == ["replaced"]
    assert "/Modhub/appeal" not in {form.action for form in page.forms.values()}
    new = new_visitor(site).get(appeal_link(statement_to(ada)))
    assert messages_on(new) == []
    assert "/Modhub/appeal" in {form.action for form in new.forms.values()}


def test_files_that_are_ticked_get_an_advisory(site: Site, ada: Person, bob: Person, mo: Person) -> None:
    # C-CAS-10
    library, evil = b"a library that many share", b"an evil program"
    mod, other = ada.draft("Tool"), bob.draft("Kit")
    ada.upload(mod, "1", library)
    ada.upload(mod, "2", evil)
    ada.call("post", f"/api/modhub/{mod['id']}/publish")
    bob.upload(other, "1", library)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in (("library", library), ("evil", evil))}
    case = f"{CASES}/{make_case(site, ada, mod)}"
    page = mo.pages.get(case)
    assert "Also here: Kit" in " ".join(page.html.get_text(" ").split())
    assert not any(box.checked for box in form_at(page, case).fields["advise"])
    words = {"advisoryReason": "It logs keys.", "advice": "Delete it."}
    advise(mo, case, digests["evil"], 400, **{**HIDE, "kind": "dismiss", **words})
    advise(mo, case, digests["evil"], 400, **HIDE)
    assert advised(site, digests["evil"]) == []
    advise(mo, case, digests["evil"], 303, **HIDE, **words)
    (made,) = advised(site, digests["evil"])
    assert (made["kind"], made["reason"], made["withdrawnAt"]) == ("malware", "It logs keys.", None)
    assert advised(site, digests["library"]) == []
    send(mo, case, **{**HIDE, "kind": "block"})
    assert advised(site, digests["evil"])[0]["withdrawnAt"] is None
    send(mo, case, kind="unblock", facts="A mistake.")
    assert advised(site, digests["evil"])[0]["withdrawnAt"] is not None


def advise(moderator: Person, case: str, digest: str, status: int, **fields: str) -> None:
    form = form_at(moderator.pages.get(case), case)
    for box in form.fields["advise"]:
        box.checked = box._value == digest
    for name, value in fields.items():
        form[name] = value
    form.submit(status=status)


def advised(site: Site, digest: str) -> list[dict[str, Any]]:
    listed: Any = site.get(f"/api/modhub/advisories/{digest[:5]}").json["advisories"]
    return [row for row in listed if row["sha256"] == digest]
