"""Concurrent publishing: everybody gets a revision, and exactly one creates the page."""

from functools import partial

import pytest

from tests.races import at_once

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.usefixtures("patience")]

KEYS = "wiki-key Modhub:wiki"
WRITERS = 8


def put(site, path, number):
    headers = {"X-Api-Key": "wiki-key"}
    return site.put(f"/Modhub/api/wiki/{path}", f"# Text {number}", headers=headers, expect_errors=True)


@pytest.fixture
def two(start):
    """Two applications over one database, as two processes are."""
    first = start("modhub_wiki", ApiPrivateKeys=KEYS)
    second = start("modhub_wiki", ApiPrivateKeys=KEYS, url=first.registry.settings["sqlalchemy.url"])
    return [first, second]


def test_of_several_who_create_a_page_one_does_and_all_have_a_revision(two):
    for round_ in range(3):
        answers = at_once([partial(put, two[number % 2], f"new{round_}", number) for number in range(WRITERS)])
        assert sorted(answer.status_int for answer in answers) == [200] * (WRITERS - 1) + [201]
        assert sorted(answer.json["revision"] for answer in answers) == list(range(1, WRITERS + 1))
        newest = max(answers, key=lambda answer: answer.json["revision"])
        assert next(answer for answer in answers if answer.status_int == 201).json["revision"] == 1
        shown = two[0].get(f"/Modhub/api/wiki/new{round_}").text
        assert shown == f"# Text {answers.index(newest)}"
        assert newest.json["title"] == shown[2:]
        stamps = [answer.json["updatedAt"] for answer in sorted(answers, key=lambda answer: answer.json["revision"])]
        assert stamps == sorted(set(stamps))


def test_publishing_while_deleting_leaves_one_order(two):
    put(two[0], "a", 0)

    def call(number):
        site = two[number % 2]
        if number % 3:
            return put(site, "a", number)
        return site.delete("/Modhub/api/wiki/a", headers={"X-Api-Key": "wiki-key"}, expect_errors=True)

    answers = at_once([partial(call, number) for number in range(12)])
    assert {answer.status_int for answer in answers} <= {200, 201, 204, 404}
    revisions = sorted(answer.json["revision"] for answer in answers if answer.status_int in {200, 201})
    assert revisions == list(range(2, 10))
    created = sum(answer.status_int == 201 for answer in answers)
    deleted = sum(answer.status_int == 204 for answer in answers)
    there = two[0].get("/Modhub/api/wiki").json["count"]
    assert 1 + created - deleted == there
    results = two[0].get("/Modhub/Wiki?q=text").text
    assert ("/Modhub/Wiki/a" in results) == bool(there)
