"""Freed memory stays with the process, by the environment that deploy/ gives it."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_RESPONSES = """
import resource

def respond():
    parts = [b"%d" % number * 300 for number in range(1000)]
    return b"[" + b",".join(parts) + b"]"

respond()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    respond()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

MANY = 2_000


def page_faults(environment: dict[str, str]) -> int:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", _RESPONSES]
    done = subprocess.run(command, capture_output=True, check=True, text=True, env={**inherited, **environment})
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is glibc's")
@pytest.mark.parametrize("file", ["modhub@.service", "Dockerfile"])
def test_large_responses_use_the_same_memory_again(file: str) -> None:
    shipped = dict(re.findall(r"(MALLOC_\w+)=(\d+)", (ROOT / "deploy" / file).read_text("utf-8")))
    assert page_faults(shipped) < MANY
    assert page_faults({}) > MANY
