"""``/healthz`` and ``/readyz`` (decisions 8.4)."""

import os
from typing import Any

import pytest

from modhub.testing import Site, Start


def test_both_are_well(site: Site) -> None:
    assert site.get("/healthz").json == {"status": "ok"}
    answer = site.get("/readyz")
    assert answer.json["status"] == "ok"
    assert (answer.json["database"], answer.json["storage"]) == ("ok", "ok")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.content_type == "application/json"


def test_storage_that_is_not_configured_is_named_and_well(start: Start) -> None:
    answer = start(modhub__storage="").get("/readyz", status=200).json
    assert (answer["status"], answer["storage"]) == ("ok", "not configured")


def test_a_store_that_cannot_be_written_is_503_and_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refuse(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & os.O_CREAT and "staging" in str(path):
            raise OSError(30, "Read-only file system")
        return real(path, flags, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        answer = site.get("/readyz", status=503).json
    assert (answer["status"], answer["storage"], answer["database"]) == ("unavailable", "unreachable", "ok")
    assert site.get("/readyz", status=200).json["storage"] == "ok"
