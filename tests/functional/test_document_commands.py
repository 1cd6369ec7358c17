"""The commands of README and of the documents, run as they are written, against a service with every feature.

docs/operations.md is followed on a bare Debian (tests/debian), docs/clients.md by tests/clients/test_get_documents.py
and tests/api. `modhub-admin moderator add` needs an authenticator: tests/moderation/test_moderators.py.
"""

import io
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from modhub_auth.publisher_keys import create_key
from modhub_testing.service import PASSWORD, features_of, script

ROOT = Path(__file__).parents[2]
MACHINE_KEY = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
GUID = "6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90"
REQUIRED = "8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21"
COMMANDS = ("sh\n", ".venv/bin/", "export ", "modhub-")
"""How a block of commands begins: fenced ones by their language, indented ones by a command."""


def new_service(services):
    settings = {"ApiPrivateKeys": f"{MACHINE_KEY} Modhub:app Modhub:wiki"}
    return services("sqlite", 1, includes=features_of(ROOT / "production.ini"), settings=settings)


@pytest.fixture(scope="module")
def service(services):
    return new_service(services)


def blocks_of(text):
    """The blocks of commands of a document, in order."""
    matches = re.findall(r"^```(\w+\n[^`]*?)^```$|\n\n((?:    .*\n)+)", text, re.MULTILINE)
    blocks = [fenced or re.sub(r"(?m)^    ", "", indented) for fenced, indented in matches]
    commands = [block.removeprefix("sh\n") for block in blocks if block.startswith(COMMANDS)]
    return [block for block in commands if not block.startswith("apt install")]


def files_of(service, folder):
    """What the commands find: this checkout, and the files that they send."""
    picture, archive = io.BytesIO(), io.BytesIO()
    Image.radial_gradient("L").save(picture, "PNG")
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("hud.txt", "A HUD")
    contents = {
        picture: ("shot.png", "shots/one.png", "shots/night.png", "shots/menu.png"),
        archive: ("hud.zip", "dist/mod.zip", "dist/rally-hud.zip", "dist/modhub.zip", "dist/modhub.tar.gz"),
        io.BytesIO(b"# 1.4\n\nFaster loading.\n"): ("README.md", "notes/1.4.md", "release-notes.txt", "docs/index.md"),
        io.BytesIO(b"body { color: red }"): ("dist/hud.css", "dist/mod.css"),
        io.BytesIO(MACHINE_KEY.encode()): ("key.txt",),
        io.BytesIO(f"verify@example.org\n{PASSWORD}\n".encode()): ("account.txt",),
    }
    for content, names in contents.items():
        for name in names:
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.touch(0o600)
            path.write_bytes(content.getvalue())
    (folder / "development.ini").symlink_to(service.ini)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(script("modhub-admin").parent)


def run(service, folder, text, **environ):
    """Run the commands of a document, in order; its output."""
    address = f"http://127.0.0.1:{service.processes[0].port}"
    commands = "\n".join(blocks_of(text))
    for told in ("http://127.0.0.1:6543", "https://mods.example.org", "https://elsewhere.example.org"):
        commands = commands.replace(told, address)
    # As deploy/modhub-admin does where the service is installed.
    commands = f'modhub-admin() {{ command modhub-admin -c {service.ini} "$@"; }}\n{commands}'
    path = f"{script('modhub-admin').parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", commands],
        env={**service.environ, "PATH": path, **environ},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def document(name):
    return (ROOT / name).read_text("utf-8")


def test_the_main_job_of_the_readme(services, tmp_path):
    service = new_service(services)  # whose first mod it is
    files_of(service, tmp_path)
    shown = run(service, tmp_path, document("README.md").replace("    make ", "    : make "))
    assert (tmp_path / "downloaded.zip").read_bytes() == (tmp_path / "hud.zip").read_bytes()
    assert shown.count('"error"') == 0
    assert "Samples are there: mods and games." in shown


@pytest.mark.long
def test_what_a_build_agent_and_an_author_publish(service, tmp_path):
    files_of(service, tmp_path)
    author = service.register("publisher")
    mod = author.new_mod("Rally HUD")
    required = author.published("Required")["guid"]
    account = author.need(200, "GET", "/api/auth/me")["accountId"]
    with Session(create_engine(service.url)) as session, session.begin():
        key = create_key(session, account, "CI", None, 1).key
    text = document("clients/modhub_client/publish/README.md").replace(GUID, mod["guid"]).replace(REQUIRED, required)
    (tmp_path / "mod.toml").write_text(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0], "utf-8")
    text = text.replace("mod 12 ", f"mod {mod['id']} ").replace("=mhk_…", f"={key}").replace("=…", f"={MACHINE_KEY}")
    shown = run(service, tmp_path, text)
    assert "Published" in shown
    assert service.caller().need(200, "GET", f"/api/modhub/{mod['id']}")["version"] == "1.4"


@pytest.mark.long
def test_the_verifier(service, tmp_path):
    files_of(service, tmp_path)
    service.register("verify").published("A mod")
    run(service, tmp_path, document("clients/modhub_client/verify/README.md"))
    assert (tmp_path / "report.json").stat().st_size > 1000
    assert (tmp_path / "report.xml").stat().st_size > 1000


@pytest.mark.long
def test_the_commands_of_moderation(service, tmp_path):
    files_of(service, tmp_path)
    service.register("bob")
    text = document("docs/moderation.md").replace("SHA256 --kind", f"{'0' * 64} --kind")
    run(service, tmp_path, text)
