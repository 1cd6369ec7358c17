"""Debian's clamd with a signature of our own: what the service refuses, and what ``doctor`` says about its limits."""

import json
import os
import random
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from modhub.content.limits import CODE
from modhub_moderation.scanning.clamd import EICAR, ScannerDown, large_archive, open_clamd
from modhub_testing.commands import find_program
from modhub_testing.service import Installation, free_port

RULE = "Modhub.Test.EICAR"
CONFIGURATION = """
Foreground yes
LocalSocketMode 666
LogFile {folder}/log
PidFile {folder}/pid
DatabaseDirectory {folder}/signatures
TemporaryDirectory {folder}
{socket}
{limits}
"""
ENOUGH = {"StreamMaxLength": "70M", "MaxFileSize": "70M", "MaxScanSize": "200M"}
"""What docs/moderation.md says."""
DEBIAN = {"StreamMaxLength": "25M", "MaxFileSize": "25M", "MaxScanSize": "100M"}
START_SECONDS = 60


def clamd_program():
    """Installed, or unpacked by ``make clamav``."""
    unpacked = Path(__file__).parents[2] / "var" / "clamav" / "usr" / "sbin" / "clamd"
    return str(unpacked) if unpacked.exists() else find_program("clamd")


@contextmanager
def clamd(folder, limits, *, port=0, signature=EICAR):
    """Debian's clamd with these limits; yields the setting that names it."""
    (folder / "signatures").mkdir(parents=True, exist_ok=True)
    (folder / "signatures" / "own.ndb").write_text(f"{RULE}:0:0:{signature.hex()}\n", "ascii")
    socket = f"TCPSocket {port}\nTCPAddr 127.0.0.1" if port else f"LocalSocket {folder}/socket"
    lines = "\n".join(f"{name} {value}" for name, value in limits.items())
    (folder / "clamd.conf").write_text(CONFIGURATION.format(folder=folder, socket=socket, limits=lines), "utf-8")
    url = f"clamd://127.0.0.1:{port}" if port else f"clamd://{folder}/socket"
    command = [clamd_program(), "--config-file", str(folder / "clamd.conf")]
    with (folder / "output").open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            wait_for(url, process, folder)
            yield url
        finally:
            process.terminate()
            process.wait(30)


def wait_for(url, process, folder):
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, (folder / "output").read_text("utf-8", "replace")
        try:
            open_clamd(url, 5).begin().close()
        except ScannerDown:
            assert time.monotonic() < deadline, (folder / "output").read_text("utf-8", "replace")
            time.sleep(0.05)
        else:
            return


@pytest.fixture
def folder(tmp_path_factory):
    """Short: the path of a socket has at most 107 bytes."""
    made = tmp_path_factory.mktemp("clam")
    assert len(os.fsencode(made)) < 90
    return made


@pytest.mark.parametrize(
    ("limits", "advice"),
    [
        (ENOUGH, None),
        (DEBIAN, "StreamMaxLength"),
        ({**ENOUGH, "MaxFileSize": "25M"}, "MaxFileSize"),
        ({**ENOUGH, "MaxScanSize": "100M"}, "MaxScanSize"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_doctor_says_which_limit_of_clamd_to_raise(folder, limits, advice):
    # C-RUN-19
    with clamd(folder, limits) as url:
        problems = list(open_clamd(url, 60).find_problems())
    if advice is None:
        assert problems == []
    else:
        (problem,) = problems
        assert f"raise {advice} in clamd.conf" in problem


def test_doctor_misses_signatures(folder):
    # C-RUN-19
    with clamd(folder, ENOUGH, signature=b"something else that is long enough") as url:
        (problem,) = open_clamd(url, 60).find_problems()
    assert "no signatures" in problem


def test_the_service_with_clamd(folder, tmp_path):
    # C-SCN-1, C-SCN-2, C-SCN-3, C-RUN-19
    port = free_port()
    with clamd(folder, ENOUGH, port=port) as url:
        service = Installation(
            tmp_path,
            f"sqlite:///{tmp_path}/modhub.sqlite",
            "modhub_auth modhub_moderation",
            settings={"modhub_moderation.scanner": url},
        )
        assert service.admin("migrate").returncode == 0
        try:
            service.start()
            check(service)
            assert scanner_problems(service) == []
        except BaseException:
            service.stop()
            raise
    try:
        own = service.register("late")
        refused = own.send_file(own.new_mod("Late")["id"], "code", b"clean", version="1")
        assert (refused.status, refused.json["error"]) == (503, "busy")
        assert int(refused.headers["Retry-After"]) >= 1
        (problem,) = scanner_problems(service)
        assert "cannot be reached" in problem
    finally:
        service.stop()
    assert "Traceback" not in service.log()


def check(service):
    """The largest upload with malware at its end, beside the largest without."""
    own = service.register("sender")
    mod = own.new_mod("Large")["id"]
    clean = random.Random(1).randbytes(CODE)
    assert own.send_file(mod, "code", clean, version="1").status == 201
    infected = b"".join(large_archive())
    refused = own.send_file(mod, "code", infected, version="2")
    assert (refused.status, refused.json["error"]) == (400, "rejected_by_scan")
    assert RULE not in refused.body.decode()
    small = own.send_file(mod, "code", EICAR, version="2")
    assert small.json["error"] == "rejected_by_scan"
    assert service.stored() == service.named()
    assert len(service.stored()) == 1
    listed = [json.loads(line) for line in service.admin("scan", "list", "--json").stdout.splitlines()]
    assert {(line["bytes"], line["mod"]) for line in listed} == {(len(infected), mod), (len(EICAR), mod)}
    assert all(line["rule"].startswith(RULE) for line in listed)


def scanner_problems(service):
    lines = [json.loads(line) for line in service.admin("doctor", "--json").stdout.splitlines()]
    return next(line["problems"] for line in lines if line["label"] == "scanner")
