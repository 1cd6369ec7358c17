"""The shape of a mod's TOML file: the schema that editors read is the one that files are checked against."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

SCHEMA_FILE: Final = Path(__file__).with_name("mod.schema.json")
_KINDS: Final = {"string": str, "array": list, "object": dict}
_NAMES: Final = {"string": "a text", "array": "a list", "object": "a table"}


def read_schema() -> dict[str, Any]:
    """The JSON schema (draft 7) of the file."""
    schema: dict[str, Any] = json.loads(SCHEMA_FILE.read_text("utf-8"))
    return schema


def find_mistakes(document: Mapping[str, Any]) -> list[str]:
    """What is wrong with a file, in sentences that name the key; unknown keys and wrong types first of all."""
    return list(_problems(document, read_schema(), ""))


def _problems(value: Any, rule: Mapping[str, Any], key: str) -> Iterator[str]:
    kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    kind = next((kind for kind in kinds if isinstance(value, _KINDS[kind])), None)
    if kind is None:
        yield f"{key} must be {' or '.join(_NAMES[kind] for kind in kinds)}, not {_name_of(value)}."
    elif kind == "object":
        yield from _table_problems(value, rule, key)
    elif kind == "array":
        if len(value) > rule.get("maxItems", len(value)):
            yield f"{key} has {len(value)} entries; {rule['maxItems']} are allowed."
        for number, item in enumerate(value):
            yield from _problems(item, rule["items"], f"{key}[{number}]")
    else:
        yield from _text_problems(value, rule, key)


def _table_problems(table: Mapping[str, Any], rule: Mapping[str, Any], key: str) -> Iterator[str]:
    known = rule["properties"]
    for name in table.keys() - known.keys():
        similar = get_close_matches(name, known, 1)
        yield f"Unknown key: {_join(key, name)}.{f' Is it {similar[0]}?' if similar else ''}"
    for name in rule.get("required", ()):
        if name not in table:
            yield f"{_join(key, name)} is required."
    for name in table.keys() & known.keys():
        yield from _problems(table[name], known[name], _join(key, name))
    if "then" in rule and len({"file", "text"} & table.keys()) != 1:
        yield f"{key} must have either file or text."


def _text_problems(text: str, rule: Mapping[str, Any], key: str) -> Iterator[str]:
    if "pattern" in rule and not re.search(rule["pattern"], text):
        yield f"{key} must be {rule['title']}."
    if text not in rule.get("enum", [text]):
        yield f"{key} must be one of {', '.join(rule['enum'])}."
    if len(text) < rule.get("minLength", 0):
        yield f"{key} must not be empty."
    if len(text) > rule.get("maxLength", len(text)):
        yield f"{key} has {len(text)} characters; {rule['maxLength']} are allowed."


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _name_of(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a table"}
    return names.get(type(value), "a date or time")
