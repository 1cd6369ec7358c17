"""A feature registers its own kind of store."""

import sys
from types import ModuleType

from modhub.admin.program import Admin
from modhub.base.settings import Setting, text
from modhub.blobs import LocalStore
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import mod_address, published_mod

FEATURE = "modhub_memory"


def test_files_are_kept_where_the_scheme_says(start, monkeypatch, tmp_path):
    store, asked = LocalStore(tmp_path / "memory"), []

    def open_store(url, settings, *, make):
        asked.append((url, settings["modhub_memory.room"], make))
        return store

    def includeme(config):
        config.include("modhub")
        config.add_blob_store("Memory", open_store)
        # After the scheme: what the store needs is read by the time it is opened.
        room = Setting("modhub_memory.room", text, "small", "where it is")
        config.add_feature(FEATURE, "Memory", settings=[room])

    module = ModuleType(FEATURE)
    module.includeme = includeme
    monkeypatch.setitem(sys.modules, FEATURE, module)
    url = "MEMORY://room/1"
    site = start(f"{TEST_ACCOUNTS} {FEATURE}", fresh=True, modhub__storage=url, modhub_memory__room="large")
    assert asked[-1] == (url, "large", True)
    mod = published_mod(site)
    assert len(dict(store.keys())) == 1
    assert site.get(mod_address(mod, "download")).body == b"code of " + mod["guid"].encode()
    assert Admin(site.config).store is store
