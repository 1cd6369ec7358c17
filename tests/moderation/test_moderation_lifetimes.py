"""What of moderation goes with an account, by a row in each table."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Table, func, insert, select

from modhub.db import Base, now
from modhub.plugins.events import AccountDeleted, ModsDeleted
from modhub_testing import Site, Start

FEATURES = "modhub_auth modhub_profiles modhub_moderation"
PERSON = {"email": "ada@example.org", "password": "correct horse battery"}
REFERENCES = {"case_id": 1, "decision_id": 1, "replaces_id": None, "blob_id": None}
WORDS = {
    "kind": "hidden",
    "subject_kind": "mod",
    "ground": "malware",
    "origin": "own",
    "locale": "en",
    "kept": None,
    "part": "",
    "part_key": "",
}


def tables() -> list[Table]:
    """In the order of their references."""
    return [table for table in Base.metadata.sorted_tables if table.name.startswith("moderation_")]


def values_of(table: Table, account: int, mod: int) -> dict[str, Any]:
    """A row of the table about the account and its mod."""
    values: dict[str, Any] = {}
    for column in table.columns:
        if column.name in REFERENCES:
            values[column.name] = REFERENCES[column.name]
        elif column.name in {"account_id", "owner_id"}:
            values[column.name] = account
        elif column.name in {"mod_id", "subject_id", "target_id"}:
            values[column.name] = mod
        elif column.name in WORDS:
            values[column.name] = WORDS[column.name]
        elif column.name == "moderator_id" or (column.primary_key and column.name == "id"):
            continue
        elif column.name.endswith(("_at", "since", "until")) or column.name == "at":
            values[column.name] = now() + timedelta(days=1)
        elif column.type.python_type is str:
            values[column.name] = "a"
        elif column.type.python_type is int and not column.nullable and column.default is None:
            values[column.name] = 1
    return values


@pytest.fixture
def filled(start: Start) -> tuple[Site, int, int]:
    """A site with a row in each table; the account, its mod."""
    site = start(FEATURES)
    session_of_ada = site.post_json("/api/auth/register", PERSON, status=201).json
    headers = {"Authorization": f"Bearer {session_of_ada['accessToken']}"}
    account = int(session_of_ada["accountId"])
    mod = int(site.post_json("/api/modhub", {"title": "A mod"}, headers=headers, status=201).json["id"])
    with site.databases.write_session.begin() as session:
        for table in tables():
            session.execute(insert(table).values(values_of(table, account, mod)))
    return site, account, mod


@pytest.mark.postgres
def test_what_goes_with_an_account(filled: tuple[Site, int, int]) -> None:
    site, account, mod = filled
    with site.databases.write_session.begin() as session:
        site.registry.notify(ModsDeleted(mod_ids=(mod,), session=session, registry=site.registry))
        site.registry.notify(AccountDeleted(account_id=account, session=session, registry=site.registry))
    with site.databases.readonly_session() as session:
        named = {
            table.name: [column.name for column in table.columns if column.name == "account_id"]
            for table in tables()
            if "account_id" in table.columns
            and session.scalar(select(func.count()).where(table.columns.account_id == account))
        }
        emptied = {
            (name, column): session.scalar(select(Base.metadata.tables[f"moderation_{name}"].columns[column]))
            for name, column in (("case", "title"), ("appeal", "text"), ("decision", "appeal_hash"))
        }
    assert named == {}
    assert not any(emptied.values()), emptied
