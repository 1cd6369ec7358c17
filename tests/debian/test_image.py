"""``deploy/Dockerfile``, built by buildah on a bare Debian, and the image started (``make test-debian``)."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from modhub_testing.commands import find_program

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "SQLALCHEMY_URL": "sqlite:////var/lib/modhub/modhub.sqlite",
    "MODHUB_SECRET": "a secret of the tests, of more than 32 characters",
    "MODHUB_BASE_URL": "https://mods.example.org",
    "MAIL_HOST": "127.0.0.1",
}
HEALTHY_SECONDS = 120


class Image:
    """The built image: what it says of itself, and its files, writable."""

    def __init__(self, folder, base):
        self._storage = [f"--root={folder}/storage", f"--runroot={folder}/run", "--storage-driver=vfs"]
        scratch = self._buildah("from", "scratch")
        self._buildah("copy", scratch, str(base), "/")
        self._buildah("commit", "--quiet", scratch, "base")
        file = str(ROOT / "deploy" / "Dockerfile")
        build = ["build", "--format=docker", "--isolation=chroot", "--build-arg=BASE=localhost/base", f"--file={file}"]
        self._buildah(*build, "--tag=modhub", str(ROOT))
        self.config = json.loads(self._buildah("inspect", "--type=image", "modhub"))["Docker"]["config"]
        self.files = Path(self._buildah("mount", self._buildah("from", "modhub")))

    def _buildah(self, *words):
        command = [find_program("buildah"), *self._storage, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
        assert done.returncode == 0, f"{words}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout.strip()

    def run(self, script):
        """Run a script as the image's user, on a network of its own, with read-only files and no rights."""
        limits = ["--private-network", "--read-only", "--no-new-privileges=yes", "--drop-capability=all"]
        limits += ["--tmpfs=/tmp:mode=1777", f"--tmpfs={self.config['WorkingDir']}:mode=0777"]
        pairs = [*self.config["Env"], *(f"{name}={value}" for name, value in SETTINGS.items())]
        command = [find_program("systemd-nspawn"), "--quiet", "--register=no", "--keep-unit", "--console=pipe", *limits]
        command += [f"--directory={self.files}", f"--user={self.config['User'].partition(':')[0]}"]
        command += [f"--chdir={self.config['WorkingDir']}", *(f"--setenv={pair}" for pair in pairs)]
        return subprocess.run(
            [*command, "/bin/sh", "-ec", script],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip


@pytest.fixture(scope="module")
def image(tmp_path_factory, bootstrap):
    folder = tmp_path_factory.mktemp("image")
    base = folder / "base"
    # "Any Debian with Python 3.11 or newer as python3, and venv, will do as BASE."
    bootstrap(base, "python3-venv", "ca-certificates")
    subprocess.run([find_program("chroot"), str(base), "update-ca-certificates"], check=True, capture_output=True)
    yield Image(folder, base)
    shutil.rmtree(folder, ignore_errors=True)


def test_the_image_is_built_with_what_it_needs_alone(image):
    assert image.run("id -u").stdout == "10001\n"
    assert image.run("command -v pip || ls /src").returncode != 0
    assert image.run("touch /opt/modhub/x").returncode != 0


def test_its_command_serves_is_healthy_and_ends_when_it_is_told(image):
    kind, *check = image.config["Healthcheck"]["Test"]
    assert (kind, image.config["StopSignal"]) == ("CMD", "SIGTERM")
    done = image.run(f"""
        modhub-admin -c /etc/modhub/modhub.ini migrate
        {shlex.join(image.config["Cmd"])} & service=$!
        tries=0
        until {shlex.join(check)} 2> /tmp/reason; do
            tries=$((tries + 1))
            [ $tries -lt {HEALTHY_SECONDS} ] || {{ cat /tmp/reason; exit 1; }}
            sleep 1
        done
        echo healthy
        kill -TERM $service
        wait $service
        echo ended""")
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (0, ["healthy", "ended"]), done.stdout + done.stderr
