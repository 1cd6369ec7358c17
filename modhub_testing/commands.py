"""Programs that tests run: those of the system, and ours on a terminal."""

import os
import pty
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


def find_program(name: str) -> str:
    """The path of a program, also of those for root. AssertionError if it is not installed."""
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    assert program, f"{name} is not installed; `make help` names the target that installs it"
    return program


def run_on_terminal(command: Sequence[str], environ: Mapping[str, str]) -> tuple[int, str, str]:
    """Run a program whose standard error is a terminal: its exit code, its output, and what the terminal shows."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environ)  # noqa: S603
    os.close(terminal)
    shown = b""
    while True:
        try:
            shown += os.read(controller, 4096)
        except OSError:
            break
    os.close(controller)
    with process:
        assert process.stdout is not None
        output = process.stdout.read()
    return process.returncode, output.decode(), shown.decode()


class Certificate(NamedTuple):
    """The files of a server's certificate, and that of the authority that issued it."""

    authority: Path
    certificate: Path
    key: Path


def issue_certificate(folder: Path, host: str) -> Certificate:
    """Make an authority of its own, and its certificate for ``host`` and 127.0.0.1."""
    made = Certificate(folder / "authority.crt", folder / "server.crt", folder / "server.key")
    request, authority_key, extensions = folder / "server.csr", folder / "authority.key", folder / "extensions"
    extensions.write_text(f"basicConstraints=CA:FALSE\nsubjectAltName=DNS:{host},IP:127.0.0.1\n")
    new_key = ["-newkey", "rsa:2048", "-nodes"]
    _openssl("req", "-x509", *new_key, "-subj", "/CN=Tests", "-keyout", authority_key, "-out", made.authority)
    _openssl("req", *new_key, "-subj", f"/CN={host}", "-keyout", made.key, "-out", request)
    signing = ["-CA", made.authority, "-CAkey", authority_key, "-CAcreateserial", "-days", "2"]
    _openssl("x509", "-req", "-in", request, *signing, "-extfile", extensions, "-out", made.certificate)
    return made


def _openssl(*words: object) -> None:
    command = [find_program("openssl"), *map(str, words)]
    subprocess.run(command, check=True, capture_output=True, timeout=100)  # noqa: S603
