"""``make audit``: known vulnerabilities and newer versions of everything in requirements/*.txt. Needs the internet.

Vulnerabilities are told by pip-audit, versions by pip. Exit codes: 0 no vulnerability but the exceptions in
requirements/audit.toml, 1 there are some, 2 one of the two could not be told. A newer version alone is no failure.
"""

import datetime
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PIP_AUDIT: Final = Path(sys.prefix) / "release" / "bin" / "pip-audit"
"""Of requirements/release.txt, in an environment of its own (``make release-tools``)."""
PIP: Final = (sys.executable, "-m", "pip")
LOCKED: Final = re.compile(r"(?m)^([\w.-]+)(?:\[.*\])?==(\S+)( ; .*?)? \\$")
"""A line of a lock file: name, version, and for which machines."""


def exceptions(root: Path) -> list[dict[str, Any]]:
    """What may pass: ``package``, ``reason``, ``until``, and either ``advisory`` or ``end_of_life``."""
    listed: list[dict[str, Any]] = tomllib.loads((root / "requirements" / "audit.toml").read_text("utf-8"))["exception"]
    return listed


def audit_command(program: Path, lock: Path, ignored: list[str]) -> list[str]:
    """Pip-audit's words for a lock file: exactly its versions, without asking pip or installing anything."""
    words = [str(program), "--requirement", str(lock), "--require-hashes", "--disable-pip", "--progress-spinner", "off"]
    return [*words, "--format", "json", *(word for advisory in ignored for word in ("--ignore-vuln", advisory))]


def vulnerabilities(program: Path, lock: Path, ignored: list[str]) -> list[str]:
    """One line each. Ends with 2 if a package could not be checked: pip-audit calls that a success too."""
    done = subprocess.run(audit_command(program, lock, ignored), capture_output=True, text=True, check=False)  # noqa: S603
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        packages = []
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    if unknown or not packages:
        # Of packages that it skips, pip-audit says that none is vulnerable.
        what = (
            f"modhub: {len(unknown)} packages of {lock.name} were"
            if unknown
            else f"{done.stderr}modhub: {lock.name} was"
        )
        sys.stderr.write(f"{what} not checked: the database of advisories cannot be reached, or pip-audit failed.\n")
        sys.exit(2)
    return [
        f"{lock.name}: {package['name']} {package['version']}: {entry['id']}, "
        f"fixed in {', '.join(entry['fix_versions']) or 'no version'}"
        for package in packages
        for entry in package.get("vulns", ())
    ]


def newer_versions(pip: tuple[str, ...], locks: list[Path]) -> list[str]:
    """One line for each package that is locked at an older version. Ends with 2 if the index cannot be asked."""
    locked = [(lock.name, *line) for lock in reversed(locks) for line in LOCKED.findall(lock.read_text("utf-8"))]
    requirements = sorted({f"{name}{machines}" for _, name, _, machines in locked})
    options = (
        "--dry-run",
        "--ignore-installed",
        "--no-deps",
        "--disable-pip-version-check",
        "--quiet",
        "--report",
        "-",
    )
    done = subprocess.run([*pip, "install", *options, *requirements], capture_output=True, text=True, check=False)  # noqa: S603
    try:
        packages = [package["metadata"] for package in json.loads(done.stdout)["install"]]
    except (ValueError, KeyError):
        sys.stderr.write(
            f"{done.stderr}modhub: newer versions were not looked for: the package index cannot be reached.\n"
        )
        sys.exit(2)
    newest = {package["name"].lower().replace("_", "-"): package["version"] for package in packages}
    # A package may be locked twice, for older versions of Python too.
    current = {name for _, name, version, _ in locked if newest.get(name, version) == version}
    outdated = {name: (lock, version) for lock, name, version, _ in locked if name not in current}
    return [f"{lock}: {name} {version}: {newest[name]} is out" for name, (lock, version) in sorted(outdated.items())]


def main(root: Path = ROOT, program: Path = PIP_AUDIT, pip: tuple[str, ...] = PIP) -> int:
    """Audit all lock files; those of what runs first."""
    allowed = exceptions(root)
    late = [entry for entry in allowed if entry["until"] < datetime.datetime.now(datetime.UTC).date()]
    ignored = [entry["advisory"] for entry in allowed if "advisory" in entry and entry not in late]
    locks = sorted((root / "requirements").glob("*.txt"), key=lambda path: (path.stem != "run", path.stem))
    newer = newer_versions(pip, locks)
    for line in newer:
        sys.stdout.write(f"{line}\n")
    lines = [line for lock in locks for line in vulnerabilities(program, lock, ignored)]
    for entry in allowed:
        what = entry.get("advisory", "end of life")
        sys.stdout.write(f"exception until {entry['until']}: {entry['package']}, {what}: {entry['reason']}\n")
    for line in lines:
        sys.stdout.write(f"{line}\n")
    if late:
        sys.stdout.write("modhub: an exception in requirements/audit.toml is over: decide again.\n")
    sys.stdout.write(
        f"modhub: {len(lines)} known vulnerabilities in {len(locks)} lock files, {len(newer)} newer versions.\n"
    )
    return 1 if lines or late else 0


if __name__ == "__main__":
    sys.exit(main())
