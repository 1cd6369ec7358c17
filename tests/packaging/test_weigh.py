"""tools/weigh.py counts tokens alike in every version of Python, and nothing that only explains."""

import runpy
from pathlib import Path

import pytest

weigh_module = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "weigh.py"))["weigh_module"]


@pytest.mark.parametrize(
    ("source", "tokens", "lines"),
    [
        ("x = 1\n", 3, 1),
        ('"""What it is."""\n\n# Why.\nx = 1  # Because.\n', 3, 1),
        ("def f(\n    a,\n):\n    'Explains.'\n    return a\n", 9, 4),
        ('x = """one\ntwo\nthree"""\n', 5, 3),
        ("x = f'{a + 1} and {b!r:>{width}}'\n", 3, 1),
        ('x = f"""{a}\n{f"{b}"}"""\n', 4, 2),
    ],
)
def test_what_counts(source: str, tokens: int, lines: int) -> None:
    assert weigh_module(source) == (tokens, lines)
