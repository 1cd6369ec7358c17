"""What a mod should be: read from its TOML file, or from the arguments of the command."""

import argparse
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any, Final
from unicodedata import normalize

from modhub_client.output import WrongUse

SUFFIX: Final = ".toml"
FIELDS: Final = ("title", "games", "requires", "conflictsWith")
"""Fields that are sent as they are; the description is previewed first."""
_FORMATS: Final = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".txt": "text"}


@dataclass(frozen=True, slots=True)
class TextSource:
    """A text and its format; None: the service recognizes it."""

    text: str
    format: str | None


@dataclass(frozen=True, slots=True)
class TargetImage:
    """An image, and its caption; None: that which it has."""

    file: Path
    caption: str | None = None

    @property
    def name(self) -> str:
        """Its name on the service. macOS takes names apart, the service puts them together."""
        return normalize("NFC", self.file.name)


@dataclass(frozen=True, slots=True)
class TargetMod:
    """A mod as it should be; None for what stays as it is."""

    reference: str
    """A GUID, a number or the address of a page; empty if the mod is to be created."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    description: TextSource | None = None
    successor: str | None = None
    version: str | None = None
    code: Path | None = None
    css: Path | None = None
    images: tuple[TargetImage, ...] | None = None
    has_all_images: bool = False
    """Whether ``images`` are all, in their order; otherwise they are some of them."""
    notes: TextSource | None = None
    digest: str = ""
    """SHA-256 of the TOML file; empty without one."""


def read_target(arguments: argparse.Namespace) -> TargetMod:
    """The mod of the arguments of ``mod``. What cannot be read ends the run before anything is sent."""
    if arguments.mod.lower().endswith(SUFFIX):
        target = _read_file(Path(arguments.mod), arguments)
    else:
        target = _read_arguments(arguments)
    if target.code is not None and not target.version:
        raise WrongUse("The code file needs a version: give --version.")
    images = target.images or ()
    names = [image.name for image in images]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise WrongUse(f"Two images have the name {doubled[0]}.")
    for file in filter(None, (target.code, target.css, *(image.file for image in images))):
        if not file.is_file() or not os.access(file, os.R_OK):
            raise WrongUse(f"{file} cannot be read.")
    return target


def _read_arguments(arguments: argparse.Namespace) -> TargetMod:
    if arguments.file is None:
        raise WrongUse("mod needs a TOML file, or the mod and its code file.")
    if arguments.create or arguments.prune or arguments.mod_elsewhere:
        raise WrongUse("--create, --prune and --mod need a TOML file.")
    return TargetMod(
        arguments.mod,
        version=arguments.version,
        code=arguments.file,
        css=arguments.css,
        images=tuple(map(TargetImage, arguments.image)) or None,
        notes=_read_changelog(arguments),
    )


def _read_changelog(arguments: argparse.Namespace) -> TextSource | None:
    return None if arguments.changelog is None else TextSource(arguments.changelog, "html")


def _read_file(path: Path, arguments: argparse.Namespace) -> TargetMod:
    if arguments.css or arguments.image:
        raise WrongUse(f"Name css and images in {path}.")
    content = path.read_bytes()
    try:
        document = tomllib.loads(content.decode("utf-8-sig"))
    except ValueError as problem:
        raise WrongUse(f"{path} is not TOML: {problem}") from None
    if problems := find_mistakes(document):
        raise WrongUse(f"{path}: {' '.join(sorted(problems))}")
    target = _target_of(document, path.parent)
    reference = arguments.mod_elsewhere or target.reference
    if not reference and not arguments.create:
        sentence = f"{path} names no guid: write that of your mod into it, or create the mod with --create."
        raise WrongUse(sentence)
    if not reference and not target.fields.get("title", "").strip():
        raise WrongUse(f"{path}: title is required to create a mod.")
    winning = {"version": arguments.version, "code": arguments.file, "notes": _read_changelog(arguments)}
    winning = {name: value for name, value in winning.items() if value is not None}
    return replace(target, reference=reference, digest=hashlib.sha256(content).hexdigest(), **winning)


def _target_of(document: Mapping[str, Any], folder: Path) -> TargetMod:
    def path_of(key: str) -> Path | None:
        return folder / document[key] if key in document else None

    images = None
    if "images" in document:
        images = tuple(TargetImage(folder / image["file"], image.get("caption")) for image in document["images"])
    return TargetMod(
        document.get("guid", ""),
        fields={name: document[name] for name in FIELDS if name in document},
        description=_read_text(document, "description", folder),
        successor=document.get("supersededBy"),
        version=document.get("version"),
        code=path_of("code"),
        css=path_of("css"),
        images=images,
        has_all_images=images is not None,
        notes=_read_text(document, "notes", folder),
    )


def _read_text(document: Mapping[str, Any], key: str, folder: Path) -> TextSource | None:
    value = document.get(key)
    if value is None or isinstance(value, str):
        return None if value is None else TextSource(value, None)
    if "text" in value:
        return TextSource(value["text"], value.get("format"))
    file = folder / value["file"]
    text_format = value.get("format") or _FORMATS.get(file.suffix.lower())
    if text_format is None:
        raise WrongUse(f"{key}.file: {file.name} tells no format. Give {key}.format.")
    try:
        return TextSource(file.read_text("utf-8-sig"), text_format)
    except UnicodeDecodeError:
        raise WrongUse(f"{key}.file: {file} is not UTF-8.") from None


SCHEMA_FILE: Final = resources.files(__package__) / "mod.schema.json"
"""It may be in an archive: modhub-publish.pyz is one."""
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
