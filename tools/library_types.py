"""``make library-types``: what the JavaScript library's types are made from, the schemas of the API's description."""

import json
import sys
from typing import Any


def without_examples(value: Any) -> Any:
    """The schema without examples, and without its title, which is its name."""
    if isinstance(value, list):
        return [without_examples(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: without_examples(item) for key, item in value.items() if key != "examples" and not is_title(key, item)}


def is_title(key: str, item: Any) -> bool:
    """Whether this is a schema's title, and not a field of that name."""
    return key == "title" and isinstance(item, str)


if __name__ == "__main__":
    description = json.load(sys.stdin)
    description["paths"] = {}
    description["components"] = {"schemas": without_examples(description["components"]["schemas"])}
    json.dump(description, sys.stdout)
