"""The public report: month by month, without anybody in it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from modhub_moderation.cases.models import Appeal, Case, Decision, Notice
from modhub_moderation.transparency.report import MONTHS, read_report
from modhub_testing import Site, Start

pytestmark = pytest.mark.postgres

MOMENT = datetime(2026, 11, 26, 12, tzinfo=UTC)
PAGE = "/Modhub/transparency"


@pytest.fixture
def site(start: Start) -> Site:
    return start("modhub_auth modhub_moderation")


def add_case(session: Any, number: int, opened: datetime, decided: datetime | None, **decision: Any) -> Decision | None:
    """A case with one notice and, if it was decided, one decision."""
    case = Case(
        subject_kind="mod",
        subject_id=number,
        owner_id=7,
        title="Secret title",
        origin="notice",
        open_key=None if decided else f"mod:{number}",
        opened_at=opened,
        decided_at=decided,
        ended_at=decided,
    )
    session.add(case)
    session.flush()
    words = {"ground": "malware", "text": "Secret notice", "name": "Secret name", "email": "secret@example.org"}
    session.add(Notice(case_id=case.id, receipt_hash=f"{case.id:064}", created_at=opened, **words))
    if decided is None:
        session.flush()
        return None
    values = {"kind": "hide", "ground": "malware", "facts": "Secret facts", "origin": "notice", "decided_at": decided}
    row = Decision(case_id=case.id, moderator_id=9, **{**values, **decision})
    session.add(row)
    session.flush()
    return row


def report_of(site: Site) -> dict[str, Any]:
    with site.databases.readonly_session() as session:
        return {month.month: month for month in read_report(session, MOMENT).months}


def test_numbers_below_three_are_not_told(site: Site) -> None:
    # C-TRP-2, T-G5
    hours = [1, 2, 30]
    for count, told in ((1, "<3"), (2, "<3"), (3, 3)):
        with site.databases.write_session.begin() as session:
            add_case(session, count, MOMENT - timedelta(hours=hours[count - 1]), MOMENT)
        month = report_of(site)["2026-11"]
        assert month.notices["malware"] == month.decisions["hide"] == told
        assert month.median_hours == (2.0 if count == 3 else None)
    assert month.notices["illegal"] == month.decisions["delete"] == month.appeals.received == "<3"


def test_each_month_has_what_was_in_it(site: Site) -> None:
    # C-TRP-1
    october, end = datetime(2026, 10, 31, 23, 59, 59, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
    with site.databases.write_session.begin() as session:
        for number in range(3):
            add_case(session, number, october, end, automatic=True, kind="block")
        for number in range(3, 7):
            decision = add_case(session, number, october, october, kind="remove")
            assert decision is not None
            outcome = "reversed" if number < 6 else "upheld"
            moments = {"created_at": october, "decided_at": end}
            session.add(Appeal(decision_id=decision.id, text="Secret appeal", outcome=outcome, **moments))
        add_case(session, 7, datetime(2026, 8, 1, tzinfo=UTC), None)
    report = report_of(site)
    assert list(report) == ["2026-11", "2026-10", "2026-09", "2026-08"]
    assert (report["2026-10"].notices["malware"], report["2026-11"].notices["malware"]) == (7, "<3")
    assert (report["2026-10"].decisions["remove"], report["2026-11"].decisions["remove"]) == (4, "<3")
    assert report["2026-11"].decisions["block"] == report["2026-11"].decisions["automatic"] == 3
    assert report["2026-10"].decisions["automatic"] == "<3"
    assert (report["2026-10"].appeals.received, report["2026-11"].appeals.received) == (4, "<3")
    assert (report["2026-11"].appeals.reversed, report["2026-11"].appeals.upheld) == (3, "<3")


def test_it_ends_with_the_oldest_of_two_years(site: Site) -> None:
    with site.databases.write_session.begin() as session:
        add_case(session, 1, MOMENT - timedelta(days=3000), MOMENT - timedelta(days=2999))
    assert list(report_of(site)) == ["2026-11"]
    with site.databases.write_session.begin() as session:
        add_case(session, 2, MOMENT - timedelta(days=700), None)
    months = list(report_of(site))
    assert len(months) == 24 == MONTHS
    assert months[-1] == "2024-12"


def test_nobody_is_in_it_and_everybody_reads_it(site: Site) -> None:
    # C-TRP-1
    with site.databases.write_session.begin() as session:
        for number in range(4):
            add_case(session, number, datetime.now(UTC), datetime.now(UTC))
    page, answer = site.get(PAGE), site.get(f"{PAGE}.json")
    for text in (page.text, answer.text):
        assert "ecret" not in text
    (month,) = answer.json["months"]
    assert set(month) == {"month", "notices", "decisions", "medianHours", "appeals"}
    assert month["notices"]["malware"] == 4
    assert month["medianHours"] == 0.0
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    site.get(f"{PAGE}.json", headers={"If-None-Match": answer.headers["ETag"]}, status=304)
    shown = {row.dt.text: row.dd.text for row in page.html.select("dl div")}
    assert (shown["Malware"], shown["Mods hidden"]) == ("4", "4")
    assert f'href="{PAGE}"' in site.get("/Modhub").text
    assert PAGE in site.get("/sitemap.xml").text
    german = site.get(PAGE, headers={"Accept-Language": "de"})
    assert german.html.select_one("h1").text == "Transparenz"


def test_an_empty_report_has_the_present_month(site: Site) -> None:
    (month,) = site.get(f"{PAGE}.json").json["months"]
    assert set(month["notices"].values()) == {"<3"}
    site.get(PAGE, status=200)
