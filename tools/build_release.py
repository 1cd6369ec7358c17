"""``make release``: the wheels of a commit with their digests, and an SBOM of what they run on. Nothing is published.

``modhub-publish.pyz`` is that program as one file, for build machines where nothing is installed.

The wheels are the same bytes wherever and whenever they are built (C-SEC-3): from the files of the commit, with its
time, and with modes that no umask changes. The SBOM (CycloneDX) lists what a new environment holds after
requirements/run.txt and the suite were installed into it, with versions, licences and who needs what.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipapp
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
CYCLONEDX: Final = Path(sys.prefix) / "release" / "bin" / "cyclonedx-py"
"""Of requirements/release.txt, in an environment of its own (``make release-tools``)."""
SPECIFICATION: Final = "1.6"
LICENCES: Final = {"bleach": "Apache-2.0"}
"""Of packages whose metadata has none that CycloneDX's program understands."""
BUILD: Final = """
import os, sys
os.umask(0o022)
from setuptools import build_meta
print(build_meta.build_wheel(sys.argv[1]))
"""
PROGRAM: Final = """
import sys
from modhub_client.publish.command import main
sys.exit(main())
"""


def run(*command: str | Path, **options: object) -> str:
    """What the program printed; ends with its own message if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False, **options)  # type: ignore[call-overload] # noqa: S603
    if done.returncode:
        sys.exit(f"modhub: {' '.join(words[:4])} failed: no release was made.")
    return str(done.stdout)


def export_commit(repository: Path, target: Path) -> int:
    """Write the files of the commit to the folder; returns the commit's time in seconds since 1970."""
    if run("git", "-C", repository, "status", "--porcelain"):
        sys.exit("modhub: a release is made from a commit: commit or remove what `git status` lists first.")
    archive = target.with_suffix(".tar")
    run("git", "-C", repository, "archive", "--output", archive, "HEAD")
    target.mkdir()
    run("tar", "--extract", "--no-same-owner", "--file", archive, "--directory", target)
    return int(run("git", "-C", repository, "log", "-1", "--format=%ct"))


def parts(source: Path) -> list[Path]:
    """The folders that a wheel is made of: the suite, then each part."""
    return [source, *sorted(path.parent for path in source.glob("modhub*/pyproject.toml")), source / "clients"]


def build_wheel(source: Path, target: Path, seconds: int) -> Path:
    """Build the wheel of a folder, whose modes it sets; all times in it are ``seconds`` since 1970."""
    for path in source.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    target.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(seconds)}
    command = (sys.executable, "-I", "-W", "error::UserWarning", "-c", BUILD, target)
    return target / run(*command, cwd=source, env=environment).split()[-1]


def build_program(clients: Path, work: Path, target: Path) -> Path:
    """Write modhub-publish as one file that Python runs; what the other programs alone need is left out."""
    left_out = shutil.ignore_patterns("get", "verify", "*.md", "__pycache__")
    shutil.copytree(clients / "modhub_client", work / "modhub_client", ignore=left_out)
    (work / "__main__.py").write_text(PROGRAM, "utf-8")
    zipapp.create_archive(work, target / "modhub-publish.pyz", "/usr/bin/env python3")
    return target / "modhub-publish.pyz"


def install(suite: Path, source: Path, folder: Path) -> Path:
    """Install the suite as an operator does; returns the Python of the new environment, which has no pip."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "--python",
        python,
        "install",
        "--no-compile",
    )
    run(*pip, "--require-hashes", "--requirement", source / "requirements" / "run.txt")
    run(*pip, "--no-deps", suite)
    run(folder / "bin" / "modhub-admin", "--help")
    return python


def describe(suite: Path, target: Path) -> Path:
    """Write what the suite is and requires, with PostgreSQL and object stores, as CycloneDX's program reads it."""
    with zipfile.ZipFile(suite) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        fields = HeaderParser().parsestr(wheel.read(name).decode())
    lines = [line for line in fields.get_all("Requires-Dist", []) if 'extra == "test"' not in line]
    required = [line.partition(";")[0].strip() for line in lines]
    project = {
        "name": fields["Name"],
        "version": fields["Version"],
        "license": fields["License-Expression"] or fields["License"],
    }
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in (*project.items(), ("dependencies", required)))
    target.write_text(f"[project]\n{text}", "utf-8")
    return target


def write_sbom(python: Path, manifest: Path, target: Path, seconds: int) -> None:
    """Write the SBOM of an environment as CycloneDX JSON; the project of the manifest is its subject."""
    form = ("--spec-version", SPECIFICATION, "--output-format", "JSON", "--output-reproducible", "--output-file", "-")
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(seconds)}
    words = ("environment", "--pyproject", manifest, "--mc-type", "application", *form, python)
    sbom = json.loads(run(CYCLONEDX, *words, env=environment))
    for component in sbom["components"]:
        if not component.get("licenses"):
            component["licenses"] = [{"license": {"id": LICENCES[component["name"]]}}]
    target.write_text(json.dumps(sbom, indent=1) + "\n", "utf-8")


def main() -> None:
    """Build everything into ``--into``."""
    parser = argparse.ArgumentParser(description="Builds a release. Nothing is published.")
    parser.add_argument("--repository", type=Path, default=ROOT, metavar="FOLDER", help="a clone; this one")
    parser.add_argument(
        "--into", type=Path, default=ROOT / "dist", metavar="FOLDER", help="an empty or new folder; dist"
    )
    asked = parser.parse_args()
    target = asked.into.resolve()
    if target.exists() and any(target.iterdir()):
        sys.exit(f"modhub: {target} is not empty: a release is never mixed with another one.")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        source = work / "source"
        seconds = export_commit(asked.repository, source)
        wheels = [build_wheel(part, target, seconds) for part in parts(source)]
        build_program(source / "clients", work / "program", target)
        version = tomllib.loads((source / "modhub" / "pyproject.toml").read_text("utf-8"))["project"]["version"]
        python = install(wheels[0], source, work / "installed")
        manifest = describe(wheels[0], work / "pyproject.toml")
        write_sbom(python, manifest, target / f"modhub-{version}.cdx.json", seconds)
    files = sorted(path for path in target.iterdir())
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (target / "SHA256SUMS").write_text(sums, "utf-8")
    sys.stdout.write(f"modhub: {len(wheels)} wheels, modhub-publish.pyz, the SBOM and SHA256SUMS are in {target}.\n")


if __name__ == "__main__":
    main()
