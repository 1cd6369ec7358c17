"""``make audit``: known vulnerabilities of everything in requirements/*.txt, by pip-audit. Needs the internet.

Exit codes: 0 none but the exceptions in requirements/audit.toml, 1 there are some, 2 it could not be told.
"""

import datetime
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PIP_AUDIT: Final = Path(sys.prefix) / "release" / "bin" / "pip-audit"
"""Of requirements/release.txt, in an environment of its own (``make release-tools``)."""


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


def main(root: Path = ROOT, program: Path = PIP_AUDIT) -> int:
    """Audit all lock files; those of what runs first."""
    allowed = exceptions(root)
    late = [entry for entry in allowed if entry["until"] < datetime.datetime.now(datetime.UTC).date()]
    ignored = [entry["advisory"] for entry in allowed if "advisory" in entry and entry not in late]
    locks = sorted((root / "requirements").glob("*.txt"), key=lambda path: (path.stem != "run", path.stem))
    lines = [line for lock in locks for line in vulnerabilities(program, lock, ignored)]
    for entry in allowed:
        what = entry.get("advisory", "end of life")
        sys.stdout.write(f"exception until {entry['until']}: {entry['package']}, {what}: {entry['reason']}\n")
    for line in lines:
        sys.stdout.write(f"{line}\n")
    if late:
        sys.stdout.write("modhub: an exception in requirements/audit.toml is over: decide again.\n")
    sys.stdout.write(f"modhub: {len(lines)} known vulnerabilities in {len(locks)} lock files.\n")
    return 1 if lines or late else 0


if __name__ == "__main__":
    sys.exit(main())
