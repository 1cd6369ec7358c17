"""Freed memory stays with the process."""

import os
import platform
import subprocess
import sys

import pytest

_RESPONSES = """
import resource, sys
from modhub.server.memory import keep_freed_memory

if sys.argv[1:]:
    keep_freed_memory()

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


def page_faults(*arguments: str, **environment: str) -> int:
    command = [sys.executable, "-c", _RESPONSES, *arguments]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(command, capture_output=True, check=True, text=True, env={**inherited, **environment})
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is glibc's")
def test_large_responses_use_the_same_memory_again() -> None:
    assert page_faults("keep") < MANY
    assert page_faults() > MANY
    # What the operator has set for glibc stays.
    assert page_faults("keep", MALLOC_TRIM_THRESHOLD_="131072") > MANY
    assert page_faults("keep", GLIBC_TUNABLES="glibc.malloc.trim_threshold=131072") > MANY
    # Other settings have nothing to do with it.
    assert page_faults("keep", MALLOC_ARENA_MAX="2") < MANY
