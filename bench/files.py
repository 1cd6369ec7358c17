"""Uploads beside the least that they cost, and downloads beside nginx. Nothing is pinned here."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench import servers
from bench.client import Client
from bench.measuring import Row, cpu_seconds, in_turns, megabytes, on_all_cores

SIZE: Final = 64 * 1024 * 1024
AT_ONCE: Final = 16
PIECE: Final = 256 * 1024
TOKEN: Final = ("Authorization: Bearer account-1",)
PAYLOAD: Final = bytes(range(256)) * (SIZE // 256)
SETTLE_SECONDS: Final = 3
"""A file that changed less than two seconds ago is hashed on every open, an older one once per process."""


def files(folder: Path, rounds: int) -> list[Row]:
    """Uploads, then downloads of one of the files."""
    folder = folder / "transfers"
    folder.mkdir()
    url = f"sqlite:///{folder}/files.sqlite"
    with on_all_cores(), ExitStack() as stack:
        servers.prepare_and_seed(folder, url, includes="modhub_testing.accounts")
        ini = servers.write_ini(
            folder, "files", url, includes="modhub_testing.accounts", modhub__accel_redirect=servers.LOCATION
        )
        process, port = stack.enter_context(servers.pserve(folder, ini, core=None))
        plain = servers.write_ini(folder, "plain", url, includes="modhub_testing.accounts")
        _, plain_port = stack.enter_context(servers.pserve(folder, plain, core=None))
        rows, mod_id = _uploads(folder, process.pid, port, max(1, rounds // 2))
        (folder / "www").mkdir()
        (folder / "www" / "file").write_bytes(PAYLOAD)
        nginx_port = stack.enter_context(servers.nginx(folder, [plain_port], accel=port))
        if nginx_port is None:
            return rows
        time.sleep(SETTLE_SECONDS)
        return rows + _downloads(plain_port, nginx_port, f"/api/modhub/{mod_id}/download", rounds)


def _uploads(folder: Path, pid: int, port: int, rounds: int) -> tuple[list[Row], int]:
    published = 0
    numbers = iter(range(1, 1000))

    def ours() -> float:
        nonlocal published
        mods = [_new_mod(port) for _ in range(AT_ONCE)]
        version = next(numbers)
        before = cpu_seconds(pid)
        seconds = _at_once([lambda mod=mod: _upload(port, mod, version) for mod in mods])  # type: ignore[misc]
        processor.append(cpu_seconds(pid) - before)
        published = mods[0]
        for mod in mods[1:]:
            _call(port, "DELETE", f"/api/modhub/{mod}", 204)
        return seconds

    def floor() -> float:
        paths = [folder / f"floor-{number}" for number in range(AT_ONCE)]
        seconds = _at_once([lambda path=path: _write_hash_and_sync(path) for path in paths])  # type: ignore[misc]
        for path in paths:
            path.unlink()
        return seconds

    processor: list[float] = []
    ours()  # to warm it
    processor.clear()
    medians = in_turns(rounds, floor=floor, ours=ours)
    _call(port, "POST", f"/api/modhub/{published}/publish", 200)
    details = {"processor_s": round(sum(processor) / len(processor), 3), "peak_mb": round(megabytes(pid, "VmHWM"), 1)}
    factor = medians["ours"] / medians["floor"]
    what = f"{AT_ONCE} uploads of 64 MB at once"
    beside = "write, fsync, hash"
    row = Row(what, "sqlite", medians["ours"], "s", medians["floor"], beside, factor, details=details)
    return [row], published


def _write_hash_and_sync(path: Path) -> None:
    """The least that storing an upload costs."""
    digest, payload = hashlib.sha256(), memoryview(PAYLOAD)
    with path.open("wb", buffering=0) as file:
        for at in range(0, SIZE, PIECE):
            file.write(payload[at : at + PIECE])
            digest.update(payload[at : at + PIECE])
        os.fsync(file.fileno())


def _at_once(jobs: list[Callable[[], None]]) -> float:
    """The seconds that all jobs take, each in a thread."""
    ready = threading.Barrier(len(jobs) + 1)

    def run(job: Callable[[], None]) -> None:
        ready.wait()
        job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        ready.wait()
        started = time.perf_counter()
        for future in futures:
            future.result()
        return time.perf_counter() - started


def _new_mod(port: int) -> int:
    return int(json.loads(_call(port, "POST", "/api/modhub", 201, b'{"title":"big"}'))["id"])


def _upload(port: int, mod_id: int, version: int) -> None:
    _call(port, "POST", f"/api/modhub/{mod_id}/code?version={version}", 201, PAYLOAD)


def _call(port: int, method: str, path: str, expected: int, body: bytes = b"") -> bytes:
    client = Client(port)
    client.send(method, path, TOKEN, body)
    status, _, answer = client.receive(keep_body=True)
    client.close()
    assert status == expected, (method, path, status, answer)
    return answer.partition(b"\r\n\r\n")[2]


def _downloads(port: int, nginx_port: int, path: str, rounds: int) -> list[Row]:
    proxied, handed_over = f"{servers.PLAIN}{path}", f"{servers.ACCEL}{path}"
    for warmed, where in ((port, path), (nginx_port, proxied), (nginx_port, handed_over)):
        _download(warmed, where)
    seconds = in_turns(
        rounds * 3,
        nginx=lambda: _download(nginx_port, "/file"),
        ours=lambda: _download(port, path),
        proxied=lambda: _download(nginx_port, proxied),
        handed_over=lambda: _download(nginx_port, handed_over),
    )
    base = seconds["nginx"] * 1e3
    whats = {
        "ours": "download of 64 MB",
        "handed_over": "behind nginx, X-Accel-Redirect",
        "proxied": "behind nginx, copied",
    }
    return [
        Row(what, "", seconds[name] * 1e3, "ms", base, "nginx sendfile", base / (seconds[name] * 1e3))
        for name, what in whats.items()
    ]


def _download(port: int, path: str) -> float:
    client = Client(port)
    started = time.perf_counter()
    status, length, _ = client.get(path)
    seconds = time.perf_counter() - started
    client.close()
    assert (status, length) == (200, SIZE), (path, status, length)
    return seconds
