"""The statement of install chains: the same rows on both databases, whatever it looks like there."""

import pytest
from msgspec.json import decode

from modhub.base import composed_body
from modhub.base.composed_body import ContentChanged
from modhub.catalogue.reading.service import CatalogueReader
from modhub_testing.mods import OWNER, mod_address, published_mod

pytestmark = pytest.mark.postgres


def test_documents_are_read_in_the_order_asked_and_as_they_were_measured(site, monkeypatch):
    mods = [published_mod(site, title=f"mod {number}") for number in range(5)]
    reader = site.find_service(CatalogueReader)
    stored = reader.measure([mod["guid"] for mod in mods])
    order = [stored[mods[number]["guid"]] for number in (3, 0, 4, 0, 1)]
    documents = list(reader.documents(order))
    assert site.databases.raw_queries.idle_count >= 1
    assert [decode(document)["title"] for document in documents] == ["mod 3", "mod 0", "mod 4", "mod 0", "mod 1"]
    assert [len(document) for document in documents] == [mod.size for mod in order]
    with monkeypatch.context() as patch:
        patch.setattr(composed_body, "PORTION", order[0].size)
        assert list(reader.documents(order)) == documents
    site.as_account(OWNER).put_json(mod_address(mods[4]), {"title": "another"})
    with pytest.raises(ContentChanged):
        list(reader.documents(order))
    site.as_account(OWNER).delete(mod_address(mods[0]))
    with pytest.raises(ContentChanged):
        list(reader.documents(order))
