"""Features look mods up through ``IMods``."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, update
from sqlalchemy.exc import OperationalError

from modhub.catalogue.models import Mod, Vote
from modhub.db import now
from modhub.plugins.services import IMods, ModSummary
from modhub_testing.mods import OWNER, hide_mod, mod_address, new_mod, published_mod
from tests.owning import vote
from tests.people import write

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


def summary(mod, *, published, owner=OWNER, hidden=False):
    return ModSummary(mod["id"], mod["guid"], mod["title"], owner, published, mod["version"], hidden)


def test_drafts_and_hidden_mods_are_there_and_not_published_with_what_depends_on_them(site):
    mods = site.find_service(IMods)
    first, draft, hidden = published_mod(site, title="First"), new_mod(site, title="Draft"), published_mod(site)
    hide_mod(site, hidden)
    other = published_mod(site, 8, "Depending", requires=[first["guid"]])
    published_mod(site, 9, "Also", requires=[first["guid"], draft["guid"]])
    own = {
        hidden["id"]: summary(hidden, published=False, hidden=True),
        draft["id"]: summary(draft, published=False),
        first["id"]: summary(first, published=True),
    }
    expected = {**own, other["id"]: summary(other, published=True, owner=8)}
    with site.databases.readonly_session() as session:
        summaries = mods.get_mods(session, [*expected, 999, -1, 10**40])
        assert mods.get_mods(session, []) == {}
        account_mods = mods.get_mods_of_account(session, OWNER)
    assert {key: mod._replace(published_at=None) for key, mod in summaries.items()} == expected
    assert [key for key, mod in summaries.items() if mod.published_at is None] == [draft["id"]]
    assert [mod._replace(published_at=None) for mod, _ in account_mods] == [*own.values()]
    assert [users for _, users in account_mods] == [0, 1, 2]


def test_a_locked_mod_cannot_be_deleted_meanwhile(site):
    mods, mod = site.find_service(IMods), published_mod(site)
    with site.databases.write_session() as session, site.databases.best_effort_session() as other:
        assert mods.lock(session, mod["id"]) is True
        assert [mods.lock(session, number) for number in (999, -1, 10**40)] == [False] * 3
        with pytest.raises(OperationalError):
            other.execute(delete(Mod).where(Mod.id == mod["id"]))
    site.get(mod_address(mod), status=200)


def test_who_changes_a_vote_casts_it_again(site):
    # C-FRONT-7
    mod, moment = published_mod(site), now() - timedelta(days=7)
    vote(site, mod, 8)
    write(site, update(Vote).values(cast_at=moment - timedelta(seconds=1)))
    vote(site, mod, 8, -1)
    with site.databases.readonly_session() as session:
        assert site.find_service(IMods).get_votes_since(session, moment) == {mod["id"]: -1}
