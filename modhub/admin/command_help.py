"""What the help of a command and of each of its actions says: a description, and examples at the end."""

import argparse
import textwrap
from collections.abc import Sequence

from modhub.plugins.commands import AdminCommand


def complete_help(parser: argparse.ArgumentParser, command: AdminCommand) -> None:
    """Complete the help of a command, and that of its actions: each has its own examples, and says what it does."""
    examples, _, remark = command.examples.partition("\n\n")
    lines = examples.splitlines()
    parser.epilog = _epilog(lines, remark)
    for group in parser._actions:
        if isinstance(group, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in group._choices_actions}
            for name, action in group.choices.items():
                action.formatter_class = argparse.RawDescriptionHelpFormatter
                action.description = textwrap.fill(action.description or as_sentence(summaries.get(name, "")), 79)
                action.epilog = _epilog([line for line in lines if line.split()[:2] == [command.name, name]])


def as_sentence(summary: str) -> str:
    """The line of a list of commands as a sentence."""
    return f"{summary[:1].upper()}{summary[1:]}." if summary else ""


def _epilog(lines: Sequence[str], remark: str = "") -> str | None:
    if not lines:
        return None
    return "\n".join(["examples (after modhub-admin -c my.ini):", *(f"  {line}" for line in lines), "", remark])
