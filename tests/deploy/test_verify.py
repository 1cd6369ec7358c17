"""``modhub-verify``, all parts, finds nothing wrong with two deployments (``make test-deploy``)."""

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from modhub_testing.caller import Caller
from modhub_testing.nginx import BEHIND_PROXY, HOST
from modhub_testing.service import PASSWORD, Installation, Process, features_of, free_port, script

ROOT = Path(__file__).parents[2]
KEY = "c0ffee" * 11
KEYS = f"{KEY} Modhub:app Modhub:wiki"
PARTS = ("read", "follow", "own", "publish")
FEATURES = features_of(ROOT / "development.ini")


def write_secret(file, text):
    file.write_text(text, "utf-8")
    file.chmod(0o600)
    return str(file)


def verify(folder, url, **environ):
    """Register an account there, run the program, and return its report. Nothing may be broken or left."""
    account = write_secret(folder / "account", f"owner@example.org\n{PASSWORD}\n")
    key = write_secret(folder / "key", KEY)
    command = [script("modhub-verify"), url, "--json", "--may-leave-traces"]
    command += ["--account-file", account, "--key-file", key]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=200, env={**os.environ, **environ}
    )
    assert ended.stdout, ended.stderr
    report = json.loads(ended.stdout)
    broken = [(check["name"], check["detail"]) for check in report["checks"] if check["state"] == "broken"]
    assert (broken, report["leftBehind"], ended.returncode) == ([], [], 0), ended.stderr
    assert "Traceback" not in ended.stderr
    # What is skipped everywhere proves nothing.
    for part in PARTS:
        checks = [check for check in report["checks"] if check["part"] == part]
        passed = sum(check["state"] == "passed" for check in checks)
        skipped = [(check["name"], check["detail"]) for check in checks if check["state"] != "passed"]
        assert passed > 0.8 * len(checks), (part, skipped)
    return report


def register(ask):
    credentials = json.dumps({"email": "owner@example.org", "password": PASSWORD})
    answer = ask("POST", "/api/auth/register", credentials, {"Content-Type": "application/json"})
    assert answer.status == 201, answer


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A folder with the database and the files of a site with the samples."""
    folder = tmp_path_factory.mktemp("samples")
    site = Installation(folder, f"sqlite:///{folder}/modhub.sqlite", FEATURES)
    fill(site)
    return folder


def fill(site):
    for words in (["migrate"], ["demo"]):
        done = site.admin(*words)
        assert done.returncode == 0, done


def copy_samples(samples, folder):
    folder.mkdir(exist_ok=True)
    shutil.copy(samples / "modhub.sqlite", folder)
    shutil.copytree(samples / "files", folder / "files")


@contextmanager
def served(process):
    """The address of a service with an account, while the process runs."""
    try:
        process.wait()
        register(Caller([process.port]).ask)
        yield f"http://127.0.0.1:{process.port}"
    finally:
        process.stop()
    log = process.log.read_text("utf-8", "replace")
    assert "Traceback" not in log, log[-8000:]


def test_the_ini_of_make_run(samples, tmp_path):
    """A copy of it, which has its own folder and port."""
    copy_samples(samples, tmp_path / "var")
    port = free_port()
    ini = tmp_path / "development.ini"
    ini.write_text((ROOT / "development.ini").read_text("utf-8").replace("6543", str(port)), "utf-8")
    environ = {**os.environ, "APIPRIVATEKEYS": KEYS, "PYTHONWARNINGS": "ignore"}
    with served(Process([str(script("pserve")), str(ini)], port, tmp_path / "log", environ)) as url:
        report = verify(tmp_path, url)
    assert {check["feature"] for check in report["checks"]} - {"core"} <= set(report["features"])


def test_nginx_with_two_processes_and_postgresql(template_databases, nginx, tmp_path):
    url = template_databases.new("postgresql", FEATURES, tmp_path / "unused")
    settings = {"modhub.base_url": f"https://{HOST}", "ApiPrivateKeys": KEYS}
    service = Installation(tmp_path, url, FEATURES, settings=settings, server=BEHIND_PROXY)
    fill(service)
    try:
        for process in [service.launch() for _ in range(2)]:
            process.wait()
        proxy = nginx([process.port for process in service.processes])
        register(proxy.ask)
        verify(tmp_path, f"https://127.0.0.1:{proxy.port}", SSL_CERT_FILE=str(proxy.certificate.authority))
    finally:
        service.stop()
    assert "Traceback" not in service.log(), service.log()[-8000:]
    template_databases.drop(url)
