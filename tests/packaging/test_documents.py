"""The documents that are made from the code are what the code says now."""

import re
import runpy
from pathlib import Path

from modhub.settings import variable

ROOT = Path(__file__).parents[2]


def test_the_settings_document_is_what_the_packages_declare():
    document = runpy.run_path(str(ROOT / "docs" / "generate.py"))["document"]
    assert (ROOT / "docs" / "settings.md").read_text() == document(), "run: python docs/generate.py > docs/settings.md"


def test_every_setting_stands_in_both_configuration_files():
    names = re.findall(r"^\| `([^`]+)` \| `([A-Z0-9_]+)`", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert len(names) > 15
    for ini in ("development.ini", "production.ini"):
        text = (ROOT / ini).read_text()
        for name, environment in names:
            assert re.search(rf"^#? ?{re.escape(name)} =", text, re.MULTILINE), f"{name} is not in {ini}"
            assert environment == variable(name)


def test_both_configuration_files_have_the_same_keys_in_the_same_order():
    def keys(ini: str) -> list[str]:
        found = re.findall(r"^#? ?([A-Za-z_.]+) =", (ROOT / ini).read_text(), re.MULTILINE)
        return [key for key in found if not key.startswith("trusted_proxy")]

    assert keys("development.ini") == keys("production.ini")


def test_the_architecture_names_only_files_that_are_there():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`(modhub[\w/]*(?:\.py|/))`", text)
    assert len(named) > 15
    missing = [name for name in named if not (ROOT / name).exists()]
    assert missing == []


def test_the_readme_names_only_targets_that_make_has():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`?make ([a-z-]+)`?", (ROOT / "README.md").read_text())):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_readme_links_every_document():
    readme = (ROOT / "README.md").read_text("utf-8")
    documents = [path.name for path in (ROOT / "docs").glob("*.md")]
    assert len(documents) > 8
    assert [name for name in documents if f"](docs/{name})" not in readme] == []
