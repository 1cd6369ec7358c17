"""What modhub-verify says of a service that runs the code of a copy of the source tree (`mutants`)."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from modhub_testing.service import PASSWORD, Installation, features_of, free_port

SECONDS: Final = 600.0
"""A verifier that takes longer cannot tell anything."""
KEY: Final = "a-machine-key-of-a-service-that-lives-for-a-minute"
VERIFIED: Final = (0, 1)
"""The exit codes of a run that came to its end."""


class NotVerified(Exception):
    """The service did not start, or the verifier did not come to its end."""


def make_service(root: Path, folder: Path, environ: Mapping[str, str], port: int) -> Installation:
    """A service of this code in ``folder``, with the features of development.ini, on SQLite."""
    settings = {"modhub.base_url": f"http://127.0.0.1:{port}", "ApiPrivateKeys": f"{KEY} Modhub:app Modhub:wiki"}
    features = features_of(root / "development.ini")
    return Installation(folder, f"sqlite:///{folder}/db.sqlite", features, settings=settings, environ=environ)


def make_samples(root: Path, folder: Path, environ: Mapping[str, str]) -> None:
    """Fill ``folder`` with the database and the files that each service of a mutant begins with."""
    port = free_port()
    service = make_service(root, folder, environ, port)
    try:
        run_command(service, "migrate")
        run_command(service, "demo")
        service.start(port=port)
        fill(service)
    finally:
        service.stop()
    run_command(service, "snapshot")


def find_broken_clauses(root: Path, samples: Path, environ: Mapping[str, str]) -> set[str]:
    """The clauses that modhub-verify, with all its parts, reports as broken. NotVerified if there is no report."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        folder, port = Path(name), free_port()
        shutil.copytree(samples, folder, dirs_exist_ok=True)
        service = make_service(root, folder, environ, port)
        try:
            service.start(port=port)
            return run_verifier(root, folder, f"http://127.0.0.1:{port}", service.environ)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            raise NotVerified(str(error)) from error
        finally:
            service.stop()


def run_command(service: Installation, command: str) -> None:
    """Run a command of modhub-admin."""
    ended = service.admin(command)
    assert ended.returncode == 0, f"{command}: {ended.stderr}"


def fill(service: Installation) -> None:
    """Add what the samples lack, and the account of the verifier."""
    author = service.register("author")
    author.published("With a link", description='<p><a href="https://example.org/">Elsewhere</a></p>')
    author.need(204, "DELETE", f"/api/modhub/{author.published('Deleted')['id']}")
    service.register("verifier")


def run_verifier(root: Path, folder: Path, address: str, environ: Mapping[str, str]) -> set[str]:
    """Run all parts of modhub-verify against this service. The credentials are kept in ``folder``."""
    account, key = folder / "account", folder / "key"
    for file, text in ((account, f"verifier@example.org\n{PASSWORD}\n"), (key, KEY)):
        file.touch(0o600)
        file.write_text(text)
    credentials = ("--account-file", str(account), "--key-file", str(key), "--may-leave-traces")
    ended = subprocess.run(  # noqa: S603 - the verifier of the copy
        [sys.executable, "-m", "modhub_client.verify.main", address, "--json", *credentials],
        env=dict(environ),
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    # Python's own code for a traceback is 1 too.
    is_whole = ended.returncode in VERIFIED and ended.stdout
    assert is_whole, f"modhub-verify ended with {ended.returncode}: {ended.stderr[-2000:]}"
    clauses: dict[str, str] = json.loads(ended.stdout)["clauses"]
    return {clause for clause, state in clauses.items() if state == "broken"}
