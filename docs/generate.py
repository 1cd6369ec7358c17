"""Writes docs/settings.md from the settings that the packages declare: ``python docs/generate.py > docs/settings.md``.

tests/packaging/test_documents.py fails when the file is not what this prints.
"""

import sys
from itertools import groupby

import modhub
from modhub.declarations import Declarations
from modhub.service_registry import find_service
from modhub.settings import CORE, Setting, variable

SECRET = "0" * 32
FEATURES = "modhub_auth modhub_builds modhub_wiki"
HEAD = """# Settings

Made by `python docs/generate.py`; do not edit. Each setting is a key of `[app:main]` in the ini; an environment
variable of the name beside it wins over the ini. An unknown key under `modhub.` or under the prefix of an included
feature stops the start with one line, and so does a value of the wrong kind.
"""


def default(setting: Setting) -> str:
    """What stands in the column "default"."""
    if setting.default is None:
        return "(required)"
    return f"`{setting.default}`" if setting.default else ""


def package(setting: Setting) -> str:
    """The heading that a setting stands under."""
    if setting in CORE:
        return "Core"
    return "mail" if setting.name == "modhub.mail_dir" else setting.name.split(".")[0]


def document(features: str = FEATURES) -> str:
    """The whole text."""
    given = {"sqlalchemy.url": "sqlite:////nowhere", "modhub.secret": SECRET, "pyramid.includes": features}
    declared = find_service(modhub.configure(given).registry, Declarations).settings
    parts = [HEAD]
    for name, settings in groupby(declared, package):
        parts.append(f"\n## {name}\n\n| key | environment | default | meaning |\n| --- | --- | --- | --- |\n")
        parts += [f"| `{s.name}` | `{variable(s.name)}` | {default(s)} | {s.help} |\n" for s in settings]
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(document(sys.argv[1] if len(sys.argv) > 1 else FEATURES))
