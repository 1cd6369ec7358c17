"""The suite: every part as one distribution. The folder of each part is installable by itself too.

The parts' own ``pyproject.toml`` say what is in them; this file only adds them up, so that a package, a requirement or
an entry point is named in one place. The name is the core's on purpose: installing the core alone over the suite
replaces it.
"""

import tomllib
from pathlib import Path

from setuptools import setup

here = Path(__file__).resolve().parent
# The core is the first of them. A part whose folder is taken away is gone with it: nothing else names it.
paths = [*sorted(here.glob("modhub*/pyproject.toml")), here / "clients/pyproject.toml"]
# Only for tests: the suite has none of it, and its requirements as the extra `test`.
kit = here / "modhub_testing" / "pyproject.toml"
paths = [path for path in paths if path != kit]
manifests = [tomllib.loads(path.read_text("utf-8")) for path in paths]
projects = [manifest["project"] for manifest in manifests]
names = {project["name"] for project in projects}
packages: list[str] = []
package_dir: dict[str, str] = {}
package_data: dict[str, list[str]] = {}
requirements: set[str] = set()
extras: dict[str, set[str]] = {}
entry_points: dict[str, list[str]] = {}

for path, manifest, project in zip(paths, manifests, projects, strict=True):
    folders = manifest["tool"]["setuptools"]["package-dir"].items()
    package_dir |= {package: (path.parent / folder).relative_to(here).as_posix() for package, folder in folders}
    packages += manifest["tool"]["setuptools"]["packages"]
    package_data |= manifest["tool"]["setuptools"]["package-data"]
    # A feature's requirement of another part is met by the suite itself.
    requirements |= {line for line in project["dependencies"] if line.split(">")[0] not in names}
    for extra, lines in project.get("optional-dependencies", {}).items():
        extras.setdefault(extra, set()).update(lines)
    groups = project.get("entry-points", {}) | {"console_scripts": project.get("scripts", {})}
    for group, points in groups.items():
        entry_points.setdefault(group, []).extend(f"{name} = {target}" for name, target in points.items())

if kit.exists():
    needed = tomllib.loads(kit.read_text("utf-8"))["project"]["dependencies"]
    extras["test"] = {line for line in needed if line.split(">")[0] not in names}

setup(
    name=projects[0]["name"],
    version=projects[0]["version"] + "+suite",
    description="A mod distribution service",
    license="MIT",
    author="modhub contributors",
    python_requires=projects[0]["requires-python"],
    packages=packages,
    package_dir=package_dir,
    package_data=package_data,
    include_package_data=False,
    install_requires=sorted(requirements, key=str.lower),
    extras_require={extra: sorted(lines) for extra, lines in extras.items()},
    entry_points=entry_points,
)
