"""Cases, notices and decisions for tests, made as their parts of the service make them."""

import hashlib
import re

from modhub.db import now
from modhub_moderation.cases.appeals import Verdict, create_appeal, decide_appeal
from modhub_moderation.cases.decisions import Subject, decide, open_case
from modhub_moderation.cases.models import Basis, Case, DecisionKind, Ground, Notice, Origin, SubjectKind
from modhub_moderation.cases.rulings import RESTRICTIONS, Ruling

FACTS = "The archive holds a keylogger."
STRANGER = "stranger@example.org"
NOTICE = "I saw it with my own eyes."


def make_case(site, owner, mod=None, *, reporter=None, stranger=False):
    """A case about the mod, or about its owner; with a reporter it began with a notice."""
    reported = reporter is not None or stranger
    with site.databases.write_session.begin() as session:
        subject = (
            Subject(SubjectKind.ACCOUNT, owner.id, owner.id, "Ada")
            if mod is None
            else Subject(SubjectKind.MOD, mod["id"], owner.id, mod["title"])
        )
        case = open_case(session, subject, Origin.NOTICE if reported else Origin.OWN)
        same = {"case_id": case.id, "ground": "malware", "text": NOTICE, "created_at": now(), "locale": "en"}
        if reporter is not None:
            session.add(Notice(receipt_hash=hashed(f"{case.id} a"), account_id=reporter.id, **same))
        if stranger:
            session.add(Notice(receipt_hash=hashed(f"{case.id} b"), name="Stranger", email=STRANGER, **same))
        return case.id


def hashed(text):
    return hashlib.sha256(text.encode()).hexdigest()


def ruling_of(kind, **more):
    restricts = {"basis": Basis.TERMS, "clause": "§ 4"} if kind in RESTRICTIONS else {}
    return Ruling(**{"kind": DecisionKind(kind), "ground": Ground.MALWARE, "facts": FACTS, **restricts, **more})


def rule(site, case_id, kind, moderator, after=None, **more):
    """Decide. The decision's number."""
    with site.databases.write_session.begin() as session:
        return decide(session, site.registry, case_id, ruling_of(kind, **more), moderator.id, after=after).id


def appeal(site, decision_id):
    """Appeal against the decision. The appeal's number."""
    with site.databases.write_session.begin() as session:
        return create_appeal(session, decision_id, "It is a test of keyboards.").id


def answer_appeal(site, appeal_id, outcome, moderator):
    with site.databases.write_session.begin() as session:
        verdict = Verdict(outcome, "We looked at it together.")
        decide_appeal(session, site.registry, appeal_id, verdict, moderator.id)


def case_of(site, case_id):
    with site.databases.readonly_session() as session:
        return session.get_one(Case, case_id)


def appeal_link(text):
    """The path and query of the link to appeal in an email's text."""
    match = re.search(r"https?://[^/\s]+(/Modhub/appeal\?token=[\w-]+)", text)
    assert match, text
    return match[1]
