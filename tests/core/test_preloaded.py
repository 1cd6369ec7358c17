"""Programs in forked processes behave like started ones."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from modhub_testing.preloaded import PreloadedPrograms

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="its way to have another's child is Linux's"),
]
PROGRAM = f"""#!{sys.executable}
import atexit, os, signal, sys, threading
imported = "modhub.admin.program" in sys.modules
print(sys.argv[1:], os.getcwd(), os.environ.get("GIVEN"), sys.stdin.read(), imported, flush=True)
import only_here
if sys.argv[1] == "wait":
    signal.pause()
atexit.register(os.write, 2, b"at exit")
threading.Timer(0.1, os.write, (2, b"done, ")).start()
print("last")
sys.exit(7)
"""


@pytest.fixture(scope="module")
def programs() -> Iterator[PreloadedPrograms]:
    made = PreloadedPrograms("")
    yield made
    made.close()


def begin(programs: PreloadedPrograms, folder: Path, word: str, **environ: str) -> "subprocess.Popen[str]":
    (folder / "program.py").write_text(PROGRAM)
    (folder / "program.py").chmod(0o755)
    (folder / "modules").mkdir(exist_ok=True)
    (folder / "modules" / "only_here.py").touch()
    pipe = subprocess.PIPE
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(folder / "modules"), **environ}
    command = [str(folder / "program.py"), word]
    return programs.popen(command, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_a_program_has_its_arguments_folder_environment_streams_and_exit_code(
    programs: PreloadedPrograms, tmp_path: Path
) -> None:
    with begin(programs, tmp_path, "ä", GIVEN="this") as program:
        output = program.communicate("typed", timeout=60)
    assert output == (f"['ä'] {tmp_path} this typed True\nlast\n", "done, at exit")
    assert program.returncode == 7


def test_a_program_is_a_child_of_the_test(programs: PreloadedPrograms, tmp_path: Path) -> None:
    with begin(programs, tmp_path, "wait") as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.close()
        program.stdout.readline()
        assert program.poll() is None
        assert f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{program.pid}/status").read_text()
        program.send_signal(signal.SIGINT)
        assert program.wait(60) == -signal.SIGINT


def test_an_interpreter_with_other_variables_is_started(programs: PreloadedPrograms, tmp_path: Path) -> None:
    with begin(programs, tmp_path, "x", PYTHONUTF8="1") as program:
        output, errors = program.communicate("", timeout=60)
    assert (program.returncode, "False" in output) == (7, True), errors
