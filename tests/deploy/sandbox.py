"""Runs a program under a filter of system calls, as systemd does: ``sandbox.py RULE... -- PROGRAM...``.

A rule is the name of a call that is refused with EPERM, as ``setpriority`` or, only with this argument,
``ioctl:1=0x5411`` and ``openat:2&0x410000=0x410000``. ``unit:FILE``, alone, is the filter of a unit
(``SystemCallFilter``).
"""

import ctypes
import errno
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
EQUAL_UNDER_MASK = 7
WHOLE = 2**64 - 1


class Comparison(ctypes.Structure):
    """``struct scmp_arg_cmp`` of libseccomp."""

    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("mask", ctypes.c_uint64), ("value", ctypes.c_uint64)]


def load_filter(default: int, rules: list[tuple[str, int, Comparison | None]]) -> None:
    """Filter the calls of this process from now on; names that this machine does not know are left out."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(default)))
    for name, action, comparison in rules:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number != -1:
            count = ctypes.c_uint(comparison is not None)
            code = library.seccomp_rule_add_array(
                context, ctypes.c_uint32(action), number, count, ctypes.byref(comparison) if comparison else None
            )
            assert code in {0, -errno.EINVAL, -errno.EDOM}, (name, code)
    assert library.seccomp_load(context) == 0


def sets_of_calls() -> dict[str, set[str]]:
    """Of each set that systemd knows, the calls, by its name (``@resources``)."""
    command = ["systemd-analyze", "--no-pager", "syscall-filter"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lists: dict[str, set[str]] = {}
    for name, body in re.findall(r"^(@\S+)\n((?: .*\n)*)", listing, re.MULTILINE):
        lists[name] = {line.strip() for line in body.splitlines() if "#" not in line}

    def expand(name: str) -> set[str]:
        return set().union(*(expand(call) if call[0] == "@" else {call} for call in lists[name]))

    return {name: expand(name) for name in lists}


def allowed_calls(unit: str) -> set[str]:
    """What the lines ``SystemCallFilter=`` of a unit allow, in their order (systemd.exec(5))."""
    sets = sets_of_calls()
    allowed = set(sets["@default"])
    for line in re.findall(r"^SystemCallFilter=(.+)$", unit, re.MULTILINE):
        calls = set().union(*(sets.get(word, {word}) for word in line.removeprefix("~").split()))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def refusal(rule: str) -> tuple[str, int, Comparison | None]:
    """A rule of the command line."""
    match = re.fullmatch(r"(\w+)(?::(\d)(?:&(\w+))?=(\w+))?", rule)
    assert match, rule
    name, argument, mask, value = match.groups()
    if argument is None:
        return name, REFUSE, None
    return name, REFUSE, Comparison(int(argument), EQUAL_UNDER_MASK, int(mask, 0) if mask else WHOLE, int(value, 0))


def main() -> None:
    """Filter, and become the program."""
    end = sys.argv.index("--")
    rules, command = sys.argv[1:end], sys.argv[end + 1 :]
    # As on a machine that gives few at first: the service asks for more.
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    if rules[0].startswith("unit:"):
        allowed = allowed_calls(Path(rules[0].removeprefix("unit:")).read_text("utf-8"))
        load_filter(REFUSE, [(name, ALLOW, None) for name in sorted(allowed)])
    else:
        load_filter(ALLOW, [refusal(rule) for rule in rules])
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
