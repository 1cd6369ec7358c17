"""The examples at the end of the help of a command, and of each of its actions."""

import argparse
from collections.abc import Sequence

from modhub.declarations import AdminCommand


def add_examples(parser: argparse.ArgumentParser, command: AdminCommand) -> None:
    """End the help of a command with its examples, and that of each action with those of the action."""
    examples, _, remark = command.examples.partition("\n\n")
    lines = examples.splitlines()
    parser.epilog = _epilog(lines, remark)
    for group in parser._actions:
        if isinstance(group, argparse._SubParsersAction):
            for name, action in group.choices.items():
                action.formatter_class = argparse.RawDescriptionHelpFormatter
                action.epilog = _epilog([line for line in lines if line.split()[:2] == [command.name, name]])


def _epilog(lines: Sequence[str], remark: str = "") -> str | None:
    if not lines:
        return None
    return "\n".join(["examples (after modhub-admin -c my.ini):", *(f"  {line}" for line in lines), "", remark])
