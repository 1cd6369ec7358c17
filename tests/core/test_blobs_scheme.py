"""A feature registers its own kind of store."""

import sys
from types import ModuleType

import pytest

import modhub
from modhub.admin.program import Admin
from modhub.base.settings import Setting, StartRefused, text
from modhub.blobs import LocalStore
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import mod_address, published_mod

FEATURE = "modhub_memory"


class MemoryFeature:
    """The feature, and what its factory was asked."""

    def __init__(self, folder):
        self.asked = []
        self.store = LocalStore(folder)

    def open_store(self, url, settings, *, make):
        self.asked.append((url, settings["modhub_memory.room"], make))
        if url.endswith("/refused"):
            raise ValueError("modhub.storage: there is no room.")
        return self.store

    def includeme(self, config):
        config.include("modhub")
        config.add_blob_store("Memory", self.open_store)
        # After the scheme: what the store needs is read by the time it is opened.
        room = Setting("modhub_memory.room", text, "small", "where it is")
        config.add_feature(FEATURE, "Memory", settings=[room])


@pytest.fixture
def feature(monkeypatch, tmp_path):
    module, made = ModuleType(FEATURE), MemoryFeature(tmp_path / "memory")
    module.includeme = made.includeme
    monkeypatch.setitem(sys.modules, FEATURE, module)
    return made


def test_files_are_kept_where_the_scheme_says(feature, start):
    url = "MEMORY://room/1"
    site = start(f"{TEST_ACCOUNTS} {FEATURE}", fresh=True, modhub__storage=url, modhub_memory__room="large")
    assert feature.asked[-1] == (url, "large", True)
    mod = published_mod(site)
    assert len(dict(feature.store.keys())) == 1
    assert site.get(mod_address(mod, "download")).body == b"code of " + mod["guid"].encode()
    site.get("/readyz", status=200)
    assert Admin(site.config).store is feature.store


def test_what_cannot_be_opened_stops_the_start(feature, good):
    with pytest.raises(StartRefused, match=r"^modhub\.storage: there is no room$"):
        modhub.configure({**good, "modhub.storage": "memory://room/refused", "pyramid.includes": FEATURE})
