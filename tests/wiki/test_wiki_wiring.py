"""The fingerprint of a publisher, and the demo."""

import re

import pytest

from modhub.admin.program import Admin
from modhub_testing import TEST_SECRET, Site, Start
from modhub_wiki.read_service import WikiReader
from modhub_wiki.services import fill_demo_wiki

pytestmark = pytest.mark.slow

KEY = {"X-Api-Key": "wiki-key"}


def test_the_fingerprint_is_of_key_and_secret(start: Start) -> None:
    authors = []
    for secret in (TEST_SECRET, TEST_SECRET, "another secret of more than 32 characters"):
        site = start("modhub_wiki", ApiPrivateKeys="wiki-key Modhub:wiki", modhub__secret=secret)
        site.put("/Modhub/api/wiki/a", b"# A", headers=KEY, status=201)
        authors.append(WikiReader(site.databases.raw_queries).recent()[0].author)
    assert authors[0] == authors[1] != authors[2]


def test_every_link_of_a_sample_page_leads_to_something(wiki: Site) -> None:
    fill_demo_wiki(Admin(wiki.config))
    for page in wiki.get("/Modhub/api/wiki").json["pages"]:
        shown = wiki.get(page["url"]).text
        for href in re.findall(r'href="(/Modhub/Wiki[^"#]*)', shown):
            answer = wiki.get(href)
            assert (answer.follow() if answer.status_int == 302 else answer).status_int == 200, href
