"""What the repository weighs, and whether that is within the budgets of pyproject.toml (`make lint`).

A token is one of `tokenize`, without comments, docstrings, line ends and indentation; a string counts one for each of
its lines, so that every version of Python counts alike. Migrations are left out. A line is one that has a token.
"""

import ast
import io
import subprocess
import sys
import token
import tokenize
import tomllib
from collections import Counter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
CONTRACT: Final = Path("modhub/contract.md")  # a document that the service reads
LAYOUT: Final = {token.NEWLINE, token.INDENT, token.DEDENT, token.ENDMARKER, tokenize.COMMENT, tokenize.NL}
# Since Python 3.12 an f-string is many tokens.
STARTS, ENDS = ({getattr(token, f"FSTRING_{end}", -1)} for end in ("START", "END"))
LARGE: Final = {"core", "catalogue", "modhub_auth", "modhub_moderation"}


def weigh_module(source: str) -> tuple[int, int]:
    """The tokens of a module, and its lines of code."""
    alone = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    docstrings = {text.lineno for text in alone if isinstance(text, ast.Constant) and isinstance(text.value, str)}
    tokens, lines, opened = 0, set[int](), list[int]()
    for each in tokenize.generate_tokens(io.StringIO(source).readline):
        first, last = each.start[0], each.end[0]
        if each.type in LAYOUT or (each.type == token.STRING and first in docstrings):
            continue
        lines.update(range(first, last + 1))
        if each.type in STARTS:
            opened.append(first)
        elif each.type in ENDS:
            first = opened.pop()
        if not opened:
            tokens += last - first + 1 if each.type in {token.STRING} | ENDS else 1
    return tokens, len(lines)


def groups_of(path: Path) -> list[str]:
    """What a file is counted in: its part, and those that the part belongs to."""
    top = path.parts[0]
    part = "kit" if top in {"modhub_testing", "tools", "bench"} else top
    if part == "modhub":
        part = "catalogue" if path.parts[1] == "catalogue" else "core"
    if part in LARGE:
        return [part, "service"]
    return [part, "small features", "service"] if part.startswith("modhub_") else [part]


def weigh_repository() -> Counter[str]:
    """Weights by name: tokens, lines and files of Python by part, bytes of what pages are made of, words of docs/."""
    weights = Counter[str]()
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603
    for path in (Path(name) for name in listed.split("\0") if (ROOT / name).is_file()):
        groups, content = groups_of(path), (ROOT / path).read_bytes()
        if path.suffix == ".py" and "versions" not in path.parts:
            tokens, lines = weigh_module(content.decode())
            for group in groups:
                weights.update({f"tokens of {group}": tokens, f"lines of {group}": lines, f"files of {group}": 1})
        elif path.suffix in {".jinja2", ".css", ".js", ".po"} and "service" in groups:
            weights[f"bytes of {path.suffix}"] += len(content)
        elif path.suffix == ".md" and (groups == ["docs"] or path == CONTRACT):
            weights["words of docs"] += len(content.split())
    return weights


def main() -> int:
    """Print all weights with their budgets; the exit code, 1 where something is above its budget."""
    weights = weigh_repository()
    budgets = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["weigh"]
    for name in sorted(weights | budgets):
        sys.stdout.write(f"{name:30} {weights[name]:7}" + (f" of {budgets[name]}\n" if name in budgets else "\n"))
    above = [name for name, most in budgets.items() if weights[name] > most]
    if above:
        sys.stderr.write(f"modhub: above the budget of pyproject.toml: {', '.join(above)}. Take something away.\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
