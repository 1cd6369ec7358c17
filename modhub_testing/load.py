"""Writers for tests of what runs beside a busy service: mods are made, replaced and deleted all the time."""

import hashlib
import random
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import TracebackType
from typing import Self

from modhub_testing.caller import Caller, patiently

UPLOAD_ATTEMPTS = 20
LOAD_SIZES = (100, 200_000)
"""Bytes of a file, the least and the most."""


class WriteLoad:
    """Threads that write until the end of the ``with`` block. An unexpected response fails the test there.

    ``settled`` are mods that nobody changes any more: by id, the SHA-256 of their file.
    """

    def __init__(self, callers: list[Caller]) -> None:
        self.settled: dict[int, str] = {}
        self.writes = 0
        self._finished = Event()
        self._callers = callers
        self._pool = ThreadPoolExecutor(len(callers), "writer")

    def __enter__(self) -> Self:
        chances = [random.Random(index) for index in range(len(self._callers))]  # noqa: S311
        self._runs = [self._pool.submit(self._run, *each) for each in zip(self._callers, chances, strict=True)]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._finished.set()
        self._pool.shutdown()
        for run in self._runs:
            if error is None:
                run.result()

    def _run(self, caller: Caller, chance: random.Random) -> None:
        while not self._finished.is_set():
            self._write(caller, chance)

    def _write(self, caller: Caller, chance: random.Random) -> None:
        """Make a mod; replace its file, delete it, or leave it as it is."""
        content = chance.randbytes(chance.randint(*LOAD_SIZES))
        mod = caller.new_mod(f"Mod {chance.randrange(10**9)}")
        _upload(caller, mod["id"], content, "1")
        caller.need(200, "POST", f"/api/modhub/{mod['id']}/publish")
        kind = chance.randrange(3)
        if kind == 0:
            content = chance.randbytes(chance.randint(*LOAD_SIZES))
            _upload(caller, mod["id"], content, "2")
        if kind == 1:
            caller.need(204, "DELETE", f"/api/modhub/{mod['id']}")
        else:
            self.settled[mod["id"]] = hashlib.sha256(content).hexdigest()
        self.writes += 1


def _upload(caller: Caller, mod_id: int, content: bytes, version: str) -> None:
    """Upload; repeat it if a sweep without a grace period removed the file while it was stored."""
    for _ in range(UPLOAD_ATTEMPTS):
        answer = patiently(lambda: caller.send_file(mod_id, "code", content, version=version, name="mod.zip"))
        if answer.status != 502:
            break
    assert answer.status == 201, answer
