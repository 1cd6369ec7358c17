"""People who report, and what their reports make."""

from sqlalchemy import select

from modhub_moderation.cases.models import Case, Notice
from tests.people import read

from .conftest import begin

STRANGER = {"name": "Sam Stranger", "email": "sam@example.org"}


def start_moderated(start, monkeypatch, notices=50, **settings):
    """An application with moderation alone, and so many notices by one caller."""
    monkeypatch.setattr("modhub_moderation.notices.views.MOST_NOTICES", notices)
    return begin(start, monkeypatch, "modhub_auth modhub_moderation", **settings)


def report(site, mod, ground="malware", *, by=None, status=201, **fields):
    """Report a mod, as a stranger or as ``by``; the answer."""
    path = f"/api/modhub/{mod['id'] if isinstance(mod, dict) else mod}/reports"
    who = {} if by else STRANGER
    sent = {"ground": ground, "text": "It steals the save files.", "goodFaith": True, **who, **fields}
    return site.post_json(path, sent, headers=by.bearer if by else {}, status=status)


def notices_of(site):
    return read(site, select(Notice).order_by(Notice.id))


def cases_of(site):
    return read(site, select(Case).order_by(Case.id))
