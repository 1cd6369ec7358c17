"""The wiki on a fresh database of each kind, with a publisher."""

import pytest

KEYS = "app-key\nwiki-key Modhub:wiki\nother-key Modhub:app Modhub:wiki"


@pytest.fixture
def wiki(start):
    """An application with the wiki, a key that may publish and one that may not."""
    return start("modhub_wiki", ApiPrivateKeys=KEYS, modhub__storage_address_key="address-key")


@pytest.fixture
def publish(wiki):
    """``publish(path, text, status=201, key=..., title=...)``: the answer's JSON."""

    def put(path, text, *, status=201, key="wiki-key", title=""):
        address = f"/Modhub/api/wiki/{path}?title={title}"
        headers = {"X-Api-Key": key}
        return wiki.put(address, text.encode(), headers=headers, content_type="text/markdown", status=status).json

    return put
