"""The start of a process, and the memory that it takes while nobody asks."""

import statistics
import time
from pathlib import Path
from typing import Final

from bench import servers
from bench.measuring import Row, megabytes, on_all_cores
from modhub_testing.caller import Caller

START_S: Final = 2
IDLE_MB: Final = 135


def starts(folder: Path, url: str, times: int) -> list[Row]:
    """The median time from the start to the first response, and the memory then."""
    seconds, memory = [], []
    ini = servers.write_ini(folder, "start", url)
    with on_all_cores():
        for _ in range(times + 1):
            began = time.perf_counter()
            with servers.pserve(folder, ini, core=None) as (process, port):
                Caller([port]).ask("GET", "/api/modhub")
                seconds.append(time.perf_counter() - began)
                memory.append(megabytes(process.pid))
    # The first one reads the files from the disk.
    started, used = statistics.median(seconds[1:]), statistics.median(memory[1:])
    return [
        Row("start to the first response", "sqlite", started, "s", at_most=START_S),
        Row("idle memory, all features", "sqlite", used, "MB", at_most=IDLE_MB),
    ]
