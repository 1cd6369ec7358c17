"""Uploads and downloads of 64 MB. Nothing is pinned here."""

import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from bench import servers
from bench.measuring import Row, cpu_seconds, in_turns, on_all_cores
from modhub_testing.caller import Caller

SIZE: Final = 64 * 1024 * 1024
AT_ONCE: Final = 16
UPLOAD_S: Final = 0.22
"""Processor seconds of one upload."""
HANDED_OVER: Final = 0.9
TOKEN: Final = "account-1"
PAYLOAD: Final = bytes(range(256)) * (SIZE // 256)
RECEIVE: Final = 1 << 20
SETTLE_SECONDS: Final = 3
"""A file that changed less than two seconds ago is hashed on every open, an older one once per process."""


def files(folder: Path, rounds: int) -> list[Row]:
    """Uploads, then downloads of one of the files through nginx."""
    folder = folder / "transfers"
    folder.mkdir()
    url = f"sqlite:///{folder}/files.sqlite"
    with on_all_cores(), ExitStack() as stack:
        servers.prepare_and_seed(folder, url, includes="modhub_testing.accounts")
        ini = servers.write_ini(
            folder, "files", url, includes="modhub_testing.accounts", modhub__accel_redirect=servers.LOCATION
        )
        process, port = stack.enter_context(servers.pserve(folder, ini, core=None))
        owner = Caller([port], TOKEN)
        mods = [owner.new_mod("big")["id"] for _ in range(AT_ONCE)]
        used = cpu_seconds(process.pid)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda mod: owner.need(201, "POST", f"/api/modhub/{mod}/code?version=1", PAYLOAD), mods))
        used = (cpu_seconds(process.pid) - used) / AT_ONCE
        rows = [Row(f"upload of 64 MB, {AT_ONCE} at once, processor time", "sqlite", used, "s", at_most=UPLOAD_S)]
        owner.need(200, "POST", f"/api/modhub/{mods[0]}/publish")
        (folder / "www").mkdir()
        (folder / "www" / "file").write_bytes(PAYLOAD)
        nginx_port = stack.enter_context(servers.nginx(folder, port))
        time.sleep(SETTLE_SECONDS)
        return [*rows, _download_row(nginx_port, f"/api/modhub/{mods[0]}/download", rounds)]


def _download_row(port: int, path: str, rounds: int) -> Row:
    """A download that modhub hands over to nginx, beside a file of nginx's own."""
    for warmed in ("/file", path):
        _download(port, warmed)
    seconds = in_turns(rounds * 3, nginx=lambda: _download(port, "/file"), ours=lambda: _download(port, path))
    ours, beside = seconds["ours"] * 1e3, seconds["nginx"] * 1e3
    factor = beside / ours
    return Row(
        "download of 64 MB, X-Accel-Redirect", "sqlite", ours, "ms", beside, "nginx sendfile", factor, HANDED_OVER
    )


def _download(port: int, path: str) -> float:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.connect()
        buffer, length, started = bytearray(RECEIVE), 0, time.perf_counter()
        connection.request("GET", path)
        response = connection.getresponse()
        while count := response.readinto(buffer):
            length += count
        seconds = time.perf_counter() - started
    assert (response.status, length) == (200, SIZE), (path, response.status, length)
    return seconds
