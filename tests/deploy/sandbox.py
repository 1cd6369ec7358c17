"""Runs a program under a filter of system calls, as systemd does: ``sandbox.py RULE... -- PROGRAM...``.

A rule is the name of a call that is refused with EPERM, as ``setpriority`` or, only with this argument,
``ioctl:1=0x5411`` and ``openat:2&0x410000=0x410000``.
"""

import ctypes
import errno
import os
import re
import resource
import sys

ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
EQUAL_UNDER_MASK = 7
WHOLE = 2**64 - 1


class Comparison(ctypes.Structure):
    """``struct scmp_arg_cmp`` of libseccomp."""

    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("mask", ctypes.c_uint64), ("value", ctypes.c_uint64)]


def load_filter(rules):
    """Filter the calls of this process from now on; names that this machine does not know are left out."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(ALLOW)))
    for name, comparison in rules:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number != -1:
            count = ctypes.c_uint(comparison is not None)
            code = library.seccomp_rule_add_array(
                context, ctypes.c_uint32(REFUSE), number, count, ctypes.byref(comparison) if comparison else None
            )
            assert code in {0, -errno.EINVAL, -errno.EDOM}, (name, code)
    assert library.seccomp_load(context) == 0


def refusal(rule):
    """A rule of the command line."""
    match = re.fullmatch(r"(\w+)(?::(\d)(?:&(\w+))?=(\w+))?", rule)
    assert match, rule
    name, argument, mask, value = match.groups()
    if argument is None:
        return name, None
    return name, Comparison(int(argument), EQUAL_UNDER_MASK, int(mask, 0) if mask else WHOLE, int(value, 0))


def main():
    """Filter, and become the program."""
    end = sys.argv.index("--")
    rules, command = sys.argv[1:end], sys.argv[end + 1 :]
    # As on a machine that gives few at first: the service asks for more.
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    load_filter([refusal(rule) for rule in rules])
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
