"""Rows as JSON objects, for documents that are read by people and programs alike."""

from datetime import datetime
from typing import Any

from sqlalchemy import Select
from sqlalchemy.orm import Session

from modhub.db import iso


def row_documents(session: Session, statement: Select[*tuple[Any, ...]]) -> list[dict[str, Any]]:
    """The rows of a statement, with the names of its columns in camel case; times as C-TXT-4 says."""
    return [
        {_camel(str(name)): iso(value) if isinstance(value, datetime) else value for name, value in row.items()}
        for row in session.execute(statement).mappings()
    ]


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
