"""App builds on a fresh database of each kind, with one key that may publish and one that may not."""

import pytest

KEY = "the-agents-key"
KEYS = f"{KEY}\nwiki-key Modhub:wiki\nboth-key Modhub:wiki Modhub:app\n"


class Agent:
    """A build agent: the calls of "App publishing" by a key."""

    headers = {"X-Api-Key": KEY}

    def __init__(self, site):
        self.site = site

    def upload(self, os="windows", body=b"a build", status=201, query="", content_type="application/octet-stream"):
        url = f"/api/modhub/app/{os}{query}"
        return self.site.post(url, body, headers=self.headers, content_type=content_type, status=status)

    def push(self, body=b"1.0\n- All new"):
        headers = {"Content-Type": "text/plain", **self.headers}
        return self.site.post("/api/modhub/app/changelog", body, headers=headers, status=201)

    def pop(self, status=200):
        return self.site.delete("/api/modhub/app/changelog", headers=self.headers, status=status)

    def list(self):
        return self.site.get("/api/modhub/app").json


@pytest.fixture
def site(start):
    return start("modhub_builds", ApiPrivateKeys=KEYS, modhub__storage_address_key="address-key")


@pytest.fixture
def agent(site):
    return Agent(site)


@pytest.fixture
def agents(agent, start):
    """Agents of two applications over one database and one file store."""
    url = agent.site.registry.settings["sqlalchemy.url"]
    return [agent, Agent(start("modhub_builds", url=url, ApiPrivateKeys=KEYS))]
