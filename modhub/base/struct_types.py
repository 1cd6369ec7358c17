"""Completes msgspec's view of every Struct before a second thread can meet one."""

from collections.abc import Iterator
from contextlib import suppress

import msgspec


def prepare_structs() -> None:
    """Let msgspec read the fields of all Structs that modules have defined until now.

    Otherwise it does so at the first decoding, which runs Python between the fields. A thread that decodes the same
    type meanwhile finds fields without a type, and the process ends with a segmentation fault (msgspec 0.22).
    """
    for struct in set(_subclasses(msgspec.Struct)):
        with suppress(NameError, TypeError):  # one that is only encoded may have fields that cannot be decoded
            msgspec.json.Decoder(struct)


def _subclasses(base: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for struct in base.__subclasses__():
        yield struct
        yield from _subclasses(struct)
