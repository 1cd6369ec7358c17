"""What schemathesis does beside its configuration: it loads this module by SCHEMATHESIS_HOOKS, in its own process."""

import os

import schemathesis

ANYWHERE = ("400", "404", "405")
"""What any call may answer: an unreadable part of the request, an address that nothing can have, another method."""
DRAFT = os.environ["MODHUB_DRAFT"].encode()
"""What is in the title and the file of a draft, whose owner makes no call."""

NUMBERS = 8
"""More than there are mods or files at the beginning."""
HUGE = 2**31


def forget_widths(part):
    """64 bits are for typed languages: a larger number is nobody's, or as good as the largest, and is not refused."""
    if isinstance(part, dict):
        if part.get("format") == "int64":
            del part["format"]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            forget_widths(inner)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Of "default" keep what any call may answer: else every status would be a described one."""
    forget_widths(raw_schema)
    for methods in raw_schema["paths"].values():
        for operation in methods.values():
            other = operation["responses"].pop("default")
            for status in ANYWHERE:
                operation["responses"].setdefault(status, other)


@schemathesis.check
def shows_no_draft(context, response, case):
    """Nothing of an unpublished mod is visible to anybody but its owner."""
    assert DRAFT not in response.content, "a draft of another account is visible"


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Ask for numbers that there are: of all numbers hardly one is that of a mod, a file or a draft."""
    return {
        name: value % NUMBERS or 1 if type(value) is int and 0 <= value < HUGE else value
        for name, value in (path_parameters or {}).items()
    }
