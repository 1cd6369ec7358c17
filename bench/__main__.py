"""``python -m bench [--only PART] [--mods N ...] [--rounds N] [--json FILE]``: ratios and peak memory.

Parts: ``api`` (reads and files against a minimal baseline), ``pages`` (each page against the JSON list).
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pyramid.paster import get_appsettings

import modhub as application
from bench import pages, servers
from bench.client import Client, seconds_each
from bench.seed import seed
from modhub.db import Databases
from modhub.declarations import Declarations
from modhub.ops import migrate
from modhub.service_registry import find_service

SIZE = 64 * 1024 * 1024
TOKEN = ("Authorization: Bearer account-1",)


def interleaved(ours: Callable[[], float], baseline: Callable[[], float], rounds: int) -> tuple[float, float]:
    """Medians of two measurements taken alternately, so that other load affects both."""
    pairs = [(ours(), baseline()) for _ in range(rounds)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def reads(port: int, folder: Path, rounds: int) -> list[dict[str, Any]]:
    """Each anonymous read against a constant response of the same bytes."""
    client = Client(port)
    rows = []
    cases = {
        "list": ("/api/modhub", 200),
        "list, page 400": ("/api/modhub?page=400", 60),
        "list, top": ("/api/modhub?sort=top", 200),
        "list, one game": ("/api/modhub?game=portal", 100),
        "search, two words": ("/api/modhub?q=amber+basalt", 60),
        "search, rare": ("/api/modhub?q=4711", 100),
        "search, two letters": ("/api/modhub?q=ju", 20),
        "single mod": ("/api/modhub/2000", 200),
        "chain of 1,000": ("/api/modhub/1", 10),
        "304": ("/api/modhub", 200),
    }
    for name, (path, times) in cases.items():
        headers: tuple[str, ...] = ()
        status, _, answer = client.get(path, keep_body=True)
        head, _, body = answer.partition(b"\r\n\r\n")
        if status != 200:
            raise AssertionError(f"{path} answered {status}")
        if name == "304":
            etag = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"etag:"))
            headers, status = (f"If-None-Match: {etag.split(b':', 1)[1].strip().decode()}",), 304
        (folder / "body").write_bytes(body)
        baseline_port = servers.free_port()
        with servers.constant(folder, folder / "body", baseline_port):
            baseline = Client(baseline_port)
            ours, theirs = interleaved(
                lambda p=path, t=times, h=headers, s=status: seconds_each(client, p, t, h, s),
                lambda p=path, t=times, h=headers, s=status, b=baseline: seconds_each(b, p, t, h, s),
                rounds,
            )
            baseline.close()
        rows.append(
            {"what": name, "bytes": len(body), "ms": ours * 1e3, "beside_ms": theirs * 1e3, "ratio": theirs / ours}
        )
    client.close()
    return rows


def upload(port: int, payload: bytes, version: str) -> tuple[float, int]:
    """Upload 64 MB of code to a new mod. Returns the seconds and the mod's id."""
    client = Client(port)
    client.send("POST", "/api/modhub", TOKEN, b'{"title":"big"}')
    mod_id = json.loads(client.receive(keep_body=True)[2].partition(b"\r\n\r\n")[2])["id"]
    started = time.perf_counter()
    client.send("POST", f"/api/modhub/{mod_id}/code?version={version}", TOKEN, payload)
    status, _, _ = client.receive()
    seconds = time.perf_counter() - started
    client.send("POST", f"/api/modhub/{mod_id}/publish", TOKEN)
    published, _, _ = client.receive()
    client.close()
    if (status, published) != (201, 200):
        raise AssertionError(f"upload {status}, publish {published}")
    return seconds, mod_id


def files(port: int, folder: Path, rounds: int) -> list[dict[str, Any]]:
    """A 64 MB upload against a plain copy to disk, a 64 MB download against nginx."""
    payload = bytes(range(256)) * (SIZE // 256)
    (folder / "www").mkdir()
    (folder / "www" / "big").write_bytes(payload)
    mod_id = 0

    def upload_once() -> float:
        nonlocal mod_id
        seconds, mod_id = upload(port, payload, "1")
        return seconds

    def copy() -> float:
        started = time.perf_counter()
        with (folder / "copy").open("wb") as file:
            file.write(payload)
            file.flush()
            servers.os.fsync(file.fileno())
        return time.perf_counter() - started

    upload_seconds, copy_seconds = interleaved(upload_once, copy, min(rounds, 3))
    rows = [
        {
            "what": "upload of 64 MB (beside: write and fsync)",
            "bytes": SIZE,
            "ms": upload_seconds * 1e3,
            "beside_ms": copy_seconds * 1e3,
            "ratio": copy_seconds / upload_seconds,
        }
    ]
    # A file that changed less than two seconds ago is hashed on every open, an older one once per process.
    time.sleep(3)
    _download(port, f"/api/modhub/{mod_id}/download")
    nginx_port = servers.free_port()
    with servers.nginx(folder, folder / "www", nginx_port) as process:
        if process is None:
            sys.stdout.write("nginx is not installed, so the download is not measured (apt-get install nginx-light)\n")
            return rows
        ours, theirs = interleaved(
            lambda: _download(port, f"/api/modhub/{mod_id}/download"), lambda: _download(nginx_port, "/big"), rounds
        )
    rows.append(
        {
            "what": "download of 64 MB (beside: nginx)",
            "bytes": SIZE,
            "ms": ours * 1e3,
            "beside_ms": theirs * 1e3,
            "ratio": theirs / ours,
        }
    )
    return rows


def _download(port: int, path: str) -> float:
    client = Client(port)
    started = time.perf_counter()
    status, length, _ = client.get(path)
    seconds = time.perf_counter() - started
    client.close()
    if (status, length) != (200, SIZE):
        raise AssertionError(f"{path} answered {status} with {length} bytes")
    return seconds


def run(mods: int, rounds: int) -> dict[str, Any]:
    """Measure a catalogue of ``mods`` mods."""
    with tempfile.TemporaryDirectory(prefix="modhub-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        port = servers.free_port()
        ini = servers.write_ini(folder, port, f"sqlite:///{folder}/bench.sqlite", "modhub.testing.accounts")
        registry: Any = application.configure(get_appsettings(str(ini), name="main")).registry
        migrate.upgrade(find_service(registry, Databases), find_service(registry, Declarations).migrations)
        seed(find_service(registry, Databases), mods)
        find_service(registry, Databases).dispose()
        process = stack.enter_context(servers.modhub(folder, ini, port))
        rows = reads(port, folder, rounds)
        peak_reads = servers.peak_megabytes(process)
        rows += files(port, folder, rounds)
        return {"mods": mods, "rows": rows, "peak_mb_reads": peak_reads, "peak_mb": servers.peak_megabytes(process)}


def show(result: dict[str, Any]) -> None:
    """Print the results as a table."""
    write = sys.stdout.write
    write(
        f"\n{result['mods']} mods; peak memory {result['peak_mb_reads']:.0f} MB in reads, "
        f"{result['peak_mb']:.0f} MB in all\n"
    )
    write(f"{'what':<44}{'bytes':>10}{'ms':>10}{'beside':>10}{'ratio':>8}\n")
    for row in result["rows"]:
        write(f"{row['what']:<44}{row['bytes']:>10}{row['ms']:>10.3f}{row['beside_ms']:>10.3f}{row['ratio']:>8.2f}\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--mods", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=["api", "pages"])
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = []
    for mods in arguments.mods if arguments.only != "pages" else ():
        results.append(run(mods, arguments.rounds))
        show(results[-1])
    for kind in ("sqlite", "postgresql") if arguments.only != "api" else ():
        with tempfile.TemporaryDirectory(prefix="modhub-bench-") as name:
            rows = pages.measure(Path(name), kind, min(arguments.mods), arguments.rounds)
        results.append({"mods": min(arguments.mods), "pages": rows})
        pages.show(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
