"""How tests end the processes of the service that they started."""

import sys
from pathlib import Path

import pytest

from modhub_testing.service import Installation, Process

pytestmark = pytest.mark.process
FINISHES_FIRST = """
import signal, sys, time
signals = []
def finish(number, frame):
    signals.append(number)
    time.sleep(0.2)
    sys.exit(6 + len(signals))
signal.signal(signal.SIGTERM, finish)
print("ready", flush=True)
signal.pause()
"""


def test_each_process_gets_one_signal_and_may_finish(tmp_path: Path) -> None:
    made = Installation(tmp_path, "sqlite:////nowhere")
    for number in range(2):
        command = [sys.executable, "-c", FINISHES_FIRST]
        made.processes.append(Process(command, 0, tmp_path / f"{number}.log", made.environ))
    while count_ready(tmp_path) < 2:
        assert all(process.popen.poll() is None for process in made.processes)
    assert made.stop() == [7, 7]
    assert made.stop() == []
    assert [process.stop() for process in made.processes] == [7, 7]


def count_ready(folder: Path) -> int:
    return sum(path.read_text() == "ready\n" for path in folder.glob("*.log"))
