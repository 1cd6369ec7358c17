"""The documents agree with the code."""

import re
import runpy
import subprocess
from pathlib import Path

import modhub

ROOT = Path(__file__).parents[2]


def test_the_settings_document_is_what_the_packages_declare():
    document = runpy.run_path(str(ROOT / "docs" / "generate.py"))["document"]
    assert (ROOT / "docs" / "settings.md").read_text() == document(), "run: python docs/generate.py > docs/settings.md"


def test_every_setting_stands_in_both_configuration_files():
    names = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert len(names) > 15
    for ini in ("development.ini", "production.ini"):
        text = (ROOT / ini).read_text()
        for name in names:
            assert re.search(rf"^#? ?{re.escape(name)} =", text, re.MULTILINE), f"{name} is not in {ini}"


def test_both_configuration_files_have_the_same_keys_in_the_same_order():
    def keys(ini):
        names = re.findall(r"^#? ?([A-Za-z_.]+) =", (ROOT / ini).read_text(), re.MULTILINE)
        return [key for key in names if not key.startswith("trusted_proxy")]

    assert keys("development.ini") == keys("production.ini")


def test_the_documents_name_only_targets_that_make_has():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in (*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("docs/adr/*.md")):
        named = set(re.findall(r"(?:`|^ *)make ([a-z][a-z-]*)", path.read_text("utf-8"), re.MULTILINE))
        assert named <= targets, path.name


def test_the_guide_names_every_directive():
    text = (ROOT / "docs" / "writing-a-feature.md").read_text()
    config = modhub.configure({"sqlalchemy.url": "sqlite:////nowhere", "modhub.secret": "0" * 32})
    # Pyramid's own and those of the libraries are told elsewhere.
    ours = {
        name for name, (function, _) in config.registry._directives.items() if function.__module__.startswith("modhub")
    }
    assert 15 < len(ours) <= 20
    assert {name for name in ours if f"`{name}(" not in text} == set()


def test_every_link_leads_to_a_file_and_a_heading():
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    dead = []
    # An api.md is part of the page /Modhub/doc, whose links tests/functional/test_subsets.py follows.
    for path in (ROOT / name for name in listed.stdout.split("\0") if name and not name.endswith("api.md")):
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
            name, _, anchor = target.partition("#")
            if ":" in target or target.startswith("/"):
                continue
            other = path.parent / name if name else path
            if not other.exists() or (anchor and anchor not in anchors(other)):
                dead.append(f"{path.relative_to(ROOT)}: {target}")
    assert dead == []


def anchors(path):
    """The anchors of a document's headings, as forges make them."""
    headings = re.findall(r"(?m)^#+ (.+)$", path.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
