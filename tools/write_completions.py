"""Writes the completions of ``modhub-get`` for bash and zsh.

They are committed, so that neither an installation nor a start of the program needs shtab. A test checks that they are
those of the present command line.
"""

import argparse
from pathlib import Path

import shtab

from modhub_client.get.main import COMPLETIONS, make_parser

FOLDER = Path(__file__).parents[1] / "clients" / "modhub_client" / "get" / "completions"
COMPLETED = {"into": shtab.DIRECTORY, "lock": shtab.FILE, "output": shtab.FILE}
"""What completes the values of options, by their names."""


def render_completions() -> dict[str, str]:
    """The text of each file, by its name."""
    parser = make_parser(None)
    _name_values(parser)
    return {name: shtab.complete(parser, shell).rstrip() + "\n" for shell, name in COMPLETIONS.items()}


def _name_values(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if action.dest in COMPLETED:
            action.complete = COMPLETED[action.dest]  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _name_values(command)


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in render_completions().items():
        (FOLDER / name).write_text(text, "utf-8", newline="\n")


if __name__ == "__main__":
    main()
