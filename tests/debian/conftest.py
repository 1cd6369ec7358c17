"""A bare Debian of one's own, which systemd boots in namespaces of this machine (``make test-debian``)."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from modhub_testing.commands import find_program

ROOT = Path(__file__).parents[2]
# What a company's machines are told about certificates and package mirrors, beyond a bare Debian.
LOCAL_FILES = ("etc/pip.conf", "usr/local/share/ca-certificates")
BOOT_SECONDS = 300
ENVIRON = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}


def bootstrap(root, *packages):
    """Make a bare Debian 12 with these packages, which trusts what this machine trusts."""
    assert os.geteuid() == 0, "a bare Debian needs root: debootstrap and systemd-nspawn make and start it"
    command = [find_program("debootstrap"), "--variant=minbase", f"--include={','.join(packages)}", "bookworm"]
    made = subprocess.run([*command, str(root)], capture_output=True, text=True, check=False, timeout=900)
    output = made.stdout[-4000:] + made.stderr[-4000:]
    assert made.returncode == 0, f"there is no bare Debian; a Debian mirror may be missing:\n{output}"
    for name in LOCAL_FILES:
        source, target = Path("/", name), root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, target)


class Debian:
    """Debian 12. It uses the network of this machine until it is booted, then only its own."""

    def __init__(self, folder):
        self.root = folder / "debian"
        self.log = folder / "boot.log"
        self._booted = None
        self._leader = 0
        # `minbase` lacks what every installed Debian has: an init system.
        bootstrap(self.root, "systemd-sysv")

    def _nspawn(self, *words):
        command = [find_program("systemd-nspawn"), "--quiet", "--register=no", "--keep-unit", "--console=pipe"]
        # A machine has no filter of its own; that of nspawn lacks them.
        command.append("--system-call-filter=landlock_create_ruleset landlock_restrict_self")
        return [*command, f"--directory={self.root}", f"--machine=modhub-{os.getpid()}", *words]

    def run(self, script, *, check=True):
        """Run a script of bash in it, as root."""
        command = ["/bin/bash", "-euo", "pipefail", "-c", script]
        if self._booted is None:
            pairs = [f"--setenv={name}={value}" for name, value in ENVIRON.items()]
            command = self._nspawn("--resolv-conf=copy-host", *pairs, *command)
        else:
            spaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd"]
            command = [find_program("nsenter"), f"--target={self._leader}", *spaces, *command]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=900, env=ENVIRON
        )
        if check and done.returncode != 0:
            journal = self.run("journalctl --quiet --no-pager --lines=60", check=False).stdout if self._booted else ""
            pytest.fail(f"{script}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}\n{journal}", pytrace=False)
        return done

    def boot(self):
        """Start its systemd, and wait until everything that it starts is up."""
        with self.log.open("ab") as log:
            self._booted = subprocess.Popen(
                self._nspawn("--boot", "--private-network"), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        children = Path(f"/proc/{self._booted.pid}/task/{self._booted.pid}/children")
        deadline = time.monotonic() + BOOT_SECONDS
        while True:
            assert self._booted.poll() is None, self.log.read_text("utf-8", "replace")[-4000:]
            assert time.monotonic() < deadline, self.log.read_text("utf-8", "replace")[-4000:]
            process_ids = children.read_text().split()
            if process_ids:
                self._leader = int(process_ids[0])
                state = self.run("systemctl is-system-running --wait", check=False).stdout.strip()
                if state in {"running", "degraded"}:
                    return
            time.sleep(0.5)

    def shut_down(self):
        """End it as a power button does."""
        if self._booted is not None:
            self._booted.terminate()
            try:
                self._booted.wait(120)
            except subprocess.TimeoutExpired:
                self._booted.kill()
                self._booted.wait()
            self._booted = None


@pytest.fixture(scope="module", name="bootstrap")
def _bootstrap():
    return bootstrap


@pytest.fixture(scope="module")
def debian(tmp_path_factory):
    machine = Debian(tmp_path_factory.mktemp("machine"))
    yield machine
    machine.shut_down()
    shutil.rmtree(machine.root, ignore_errors=True)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A repository of one commit: this checkout, committed or not."""
    repository = tmp_path_factory.mktemp("source") / "modhub.git"
    ignored = shutil.ignore_patterns(".git", ".venv", "var", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, repository, ignore=ignored)
    git = [find_program("git"), "-C", str(repository), "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=As it is"]):
        subprocess.run([*git, *words], check=True, capture_output=True, timeout=100)
    return repository
