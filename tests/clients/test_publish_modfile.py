"""The TOML file of ``modhub-publish mod``: its schema, its sentences, and that nothing is sent for a wrong one."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from modhub_client.publish import client, command
from modhub_client.publish.modfile import find_mistakes, read_schema

GUID = "6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90"
WHOLE = f'''
guid = "{GUID}"
title = "Rally HUD"
description = {{ file = "README.md", format = "html" }}
games = ["Portal 2"]
requires = ["{GUID.upper()}"]
conflictsWith = []
supersededBy = ""
version = "1.4"
code = "dist/hud.zip"
css = "hud.css"
notes = "Faster."
[[images]]
file = "one.png"
caption = ""
[[images]]
file = "two.png"
'''
WRONG = {
    'titel = "x"': "Unknown key: titel. Is it title?",
    "title = 1": "title must be a text, not a number.",
    'title = ""': "title must not be empty.",
    f'title = "{"x" * 121}"': "title has 121 characters; 120 are allowed.",
    "version = 2026-01-01": "version must be a text, not a date or time.",
    "games = [1]": "games[0] must be a text, not a number.",
    'requires = ["x"]': "requires[0] must be a GUID.",
    f"requires = {[GUID] * 51}": "requires has 51 entries; 50 are allowed.",
    "description = {}": "description must have either file or text.",
    'notes = { text = "a", format = "rtf" }': "notes.format must be one of text, markdown, html.",
    'notes = { txt = "a", text = "a" }': "Unknown key: notes.txt. Is it text?",
    '[[images]]\ncaption = "a"': "images[0].file is required.",
}


def test_a_whole_file_is_right():
    # C-OWN-20
    document = tomllib.loads(WHOLE)
    assert find_mistakes(document) == []
    jsonschema.Draft7Validator.check_schema(read_schema())
    jsonschema.validate(document, read_schema(), jsonschema.Draft7Validator)
    assert document.keys() == read_schema()["properties"].keys()


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_named(text, tmp_path, monkeypatch, capsys):
    # C-OWN-20: the program and an editor with the schema refuse the same.
    document = tomllib.loads(text)
    assert find_mistakes(document) == [WRONG[text]]
    assert not jsonschema.Draft7Validator(read_schema()).is_valid(document)
    monkeypatch.setenv("MODHUB_API_KEY", "mhk_x")
    file = tmp_path / "mod.toml"
    file.write_text(text)
    assert command.main(["--url", "http://127.0.0.1:9", "mod", str(file), "--create"]) == client.USAGE_ERROR
    assert capsys.readouterr().err == f"modhub-publish: {file}: {WRONG[text]}\n"


CALLS = {
    ("mod", "12"): "mod needs a TOML file, or the mod and its code file.",
    ("mod", "12", "code"): "The code file needs a version",
    ("mod", "12", "code", "--version", "1", "--create"): "need a TOML file",
    ("mod", "12", "missing", "--version", "1"): "missing cannot be read.",
    ("mod", "none.toml"): "names no guid",
    ("mod", "none.toml", "--create"): "title is required to create a mod",
    ("mod", "whole.toml", "--css", "code"): "Name css and images in whole.toml.",
    ("mod", "format.toml", "--create"): "description.file: code tells no format.",
    ("mod", "binary.toml", "--create"): "description.file: binary.md is not UTF-8.",
    ("mod", "gone.toml", "--create"): "gone.md",
    ("mod", "twice.toml", "--create"): "Two images have the name code.",
    ("mod", "broken.toml"): "broken.toml is not TOML",
}


@pytest.mark.parametrize("words", CALLS)
def test_a_wrong_call_sends_nothing(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MODHUB_API_KEY", "mhk_x")
    files = {
        "none.toml": "",
        "whole.toml": WHOLE,
        "format.toml": 'title = "x"\ndescription = { file = "code" }',
        "binary.toml": 'title = "x"\ndescription = { file = "binary.md" }',
        "gone.toml": 'title = "x"\nnotes = { file = "gone.md" }',
        "twice.toml": 'title = "x"\n[[images]]\nfile = "code"\n[[images]]\nfile = "folder/code"',
        "broken.toml": "title = ",
        "code": "x",
    }
    for name, text in files.items():
        Path(name).write_text(text)
    Path("binary.md").write_bytes(b"\xff\xfe")
    # A call would end with 4: nobody listens there.
    assert command.main(["--url", "http://127.0.0.1:9", *words]) == client.USAGE_ERROR
    assert CALLS[words] in capsys.readouterr().err


def test_the_schema_is_there_without_a_key(tmp_path, monkeypatch, capsys):
    # C-OWN-20
    monkeypatch.delenv("MODHUB_API_KEY", raising=False)
    assert command.main(["schema"]) == client.DONE
    assert json.loads(capsys.readouterr().out) == read_schema()
    program = [sys.executable, "-c", "from modhub_client.publish.command import main; main(['schema'])"]
    shown = subprocess.run(program, capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(shown.stdout) == read_schema()
    assert command.main(["schema", str(tmp_path / "mod.schema.json")]) == client.DONE
    assert json.loads((tmp_path / "mod.schema.json").read_text("ascii")) == read_schema()
    assert command.main(["schema", str(tmp_path)]) == client.USAGE_ERROR
    assert command.main(["key"]) == client.USAGE_ERROR


@pytest.mark.parametrize("line", ["mod 12 code --version 1", "--json mod 12 --publish code"])
def test_the_code_file_may_follow_options(line):
    arguments = command.parse_console_arguments(line.split())
    assert (arguments.mod, arguments.file) == ("12", Path("code"))


@pytest.mark.parametrize("line", ["mod 12 code more", "mod mod.toml --imag x", "--key k key"])
def test_unknown_arguments_are_refused(line):
    with pytest.raises(SystemExit) as ended:
        command.parse_console_arguments(line.split())
    assert ended.value.code == client.USAGE_ERROR
