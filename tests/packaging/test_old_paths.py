"""Modules that moved are found at their old paths until 1.2."""

import subprocess
import sys
from importlib import import_module

import pytest

from modhub.base.old_paths import MOVED

PROGRAM = """
from modhub.db import Base
from modhub.errors import ApiError
from modhub import text
import modhub.blobs.uploads
import modhub.base.errors, modhub.content.text, modhub.http.uploads
print(ApiError is modhub.base.errors.ApiError, text is modhub.content.text, modhub.blobs.uploads is modhub.http.uploads)
print(modhub.base.errors.__spec__.name)
"""


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_path_leads_to_the_module_and_warns(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is {MOVED[old]} now; the old path ends with 1.2"):
        module = import_module(old)
    assert module is import_module(MOVED[old])
    assert module.__name__ == MOVED[old]


def test_a_feature_of_the_version_before_imports_what_it_knows() -> None:
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == ["True True True", "modhub.base.errors"]
