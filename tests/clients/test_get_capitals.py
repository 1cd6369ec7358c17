"""``modhub-get`` on file systems that do not tell capitals apart, such as those of macOS and Windows."""

import os
from pathlib import Path

import pytest

from modhub_client.get import folder as folder_module
from modhub_client.get.installation import PRIVATE

from .conftest import expected, files, renew


def as_on_disk(path):
    """The path with the name that it has in its folder, whatever its capitals."""
    if not isinstance(path, str | Path):
        return path
    parent, name = os.path.split(path)
    try:
        names = os.listdir(parent)  # noqa: PTH208 - pathlib uses what is patched here
    except OSError:
        return path
    return os.path.join(parent, next((entry for entry in names if entry.lower() == name.lower()), name))  # noqa: PTH118


@pytest.fixture(params=["new name", "old name"])
def _no_capitals(request, monkeypatch):
    """Make the system ignore capitals. Which name a replaced file has then differs by system."""
    for name in ("stat", "lstat", "unlink", "open"):
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda path, *more, _call=call, **named: _call(as_on_disk(path), *more, **named))
    rename = os.replace

    def replace(source, target):
        stored, there = as_on_disk(source), as_on_disk(target)
        is_same = stored == there
        if not is_same:
            rename(stored, there)
        if is_same or request.param == "new name":
            rename(there, target)

    monkeypatch.setattr(os, "replace", replace)


def _kill(path):
    if path.name != PRIVATE:
        raise RuntimeError("killed")


@pytest.mark.usefixtures("_no_capitals")
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_name_with_other_capitals_is_the_same_file(fake, run, folder, is_killed, monkeypatch):
    mod, other = fake.add(1), fake.add(2)
    mod.name, other.name = "HUD.zip", "other.zip"
    run.install(mod, other)
    renew(mod, other)
    mod.name, other.name = "hud.zip", "another.zip"
    if is_killed:
        with monkeypatch.context() as patch:
            # After the moves, before the deletions.
            patch.setattr(folder_module, "sync_directory", _kill)
            with pytest.raises(RuntimeError, match="killed"):
                run(0, "update")
    run(0, "update")
    run(0, "check")
    assert files(folder) == expected(mod, other)
    run(0, "remove", mod.guid)
    assert not (folder / mod.guid).exists()
