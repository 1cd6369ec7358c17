"""Programs of the system that tests run."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple


def find_program(name: str) -> str:
    """The path of a program, also of those for root. AssertionError if it is not installed."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    assert found, f"{name} is not installed; `make help` names the target that installs it"
    return found


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
