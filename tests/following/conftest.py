"""Accounts and following on a fresh database of each kind, with people who publish and people who read."""

import pytest

from modhub.plugins.events import DatabaseRestored
from tests.people import ada, bob, cheap_hashes

__all__ = ["ada", "bob"]

FEATURES = "modhub_auth modhub_following"


@pytest.fixture
def site(start, monkeypatch):
    monkeypatch.setattr("modhub_following.services.MOST_FOLLOWS", 4)
    with cheap_hashes(monkeypatch):
        return start(FEATURES, modhub_auth__register_limit="99", modhub__mail_dir="{folder}/mail")


def restore(site):
    """What the operator is told, as after a restore."""
    with site.databases.write_session.begin() as session:
        event = DatabaseRestored(session, site.registry, site.registry.settings["modhub.base_url"])
        site.registry.notify(event)
    return event.notes
