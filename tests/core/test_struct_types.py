"""Threads that decode a type for the first time at once."""

import msgspec
import pytest

evaluated = []
PROGRAM = """
import sys, threading, types
from typing import Annotated, Literal
import msgspec
from modhub.base.struct_types import prepare_structs

MODULE = '''
from typing import Annotated, Literal
import msgspec
class Inner(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(min_length=1)]
class Outer(msgspec.Struct):
    title: Annotated[str, msgspec.Meta(max_length=100)]
    inner: list[Inner] = []
    kind: Literal["a", "b"] = "a"
    note: Annotated[str, msgspec.Meta(max_length=100)] | None = None
'''
BODY = b'{"title": "x", "note": "y", "kind": "b"}'
decoded = []

def decode(barrier, model):
    barrier.wait()
    decoded.append(msgspec.json.decode(BODY, type=model).note)

sys.setswitchinterval(1e-6)
for number in range(100):
    module = sys.modules[f"module{number}"] = types.ModuleType(f"module{number}")
    exec(MODULE, module.__dict__)
    prepare_structs()
    barrier = threading.Barrier(8)
    threads = [threading.Thread(target=decode, args=(barrier, module.Outer)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(decoded.count("y"))
"""


@pytest.mark.process
def test_threads_may_decode_a_prepared_type_at_once(run_program):
    done = run_program(PROGRAM)
    assert (done.returncode, done.stdout.strip()) == (0, "800"), done.stderr


def test_a_configuration_prepares_all_types(start):
    class OnlyEncoded(msgspec.Struct):
        field: "Unknown"  # noqa: F821

    class Late(msgspec.Struct):
        later: "evaluated.append(1) or str"

    start(fresh=True)
    assert evaluated
