"""``modhub-admin build ...`` for the operator, and the sample builds of ``modhub-admin demo``."""

import argparse
import io
import zipfile
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.blobs import stage
from modhub.db import iso
from modhub.plugins.commands import (
    AdminCommand,
    add_json_option,
    add_yes_option,
    end_rehearsal,
    is_rehearsal,
    parse_count,
)
from modhub_builds import limits, services
from modhub_builds.models import Build
from modhub_builds.read_service import BuildReader, Release

_EXAMPLES: Final = """\
build list --json                    the stored builds, one JSON object per line
build remove linux 3 --dry-run       says which build that is
build remove linux 3 --yes           removes it permanently"""
DEMO_BUILDS: Final = (("linux", "0.9"), ("windows", "0.9"), ("linux", "1.0"), ("windows", "1.0"), ("macos", "1.0"))
DEMO_SECTIONS: Final = (
    "0.9\n- First build that anybody could download.\n- Reads the capture card at 60 frames a second.",
    "1.0\n- Mods are installed with everything that they need.\n- A build for macOS.",
)


def run_build(admin: Any, arguments: argparse.Namespace) -> int:
    """``build list|remove``"""
    if arguments.action == "list":
        return list_builds(admin, as_json=arguments.json)
    rehearses = is_rehearsal(arguments)
    with admin.writing(dry_run=rehearses) as (session, _):
        build = services.remove_build(session, arguments.os, arguments.id)
        name = None if build is None else build.name
    if name is None:
        admin.say_problem("There is no such build.")
        return 1
    if rehearses:
        admin.say(f"Build {arguments.id} for {arguments.os} ({name}) would be removed permanently.")
        return end_rehearsal(admin, arguments)
    admin.say(f"Removed build {arguments.id} for {arguments.os}. The next sweep deletes its file.")
    return 0


def list_builds(admin: Any, *, as_json: bool) -> int:
    """Print one line per build."""
    releases = BuildReader(admin.databases.raw_queries).releases()
    stored = [build for of_os in releases.values() for build in of_os]
    for release in stored:
        if as_json:
            admin.say_json(_build_document(release))
            continue
        label = release.version or "(no label)"
        admin.say(f"{release.url}: {label}, {release.name}, {release.size} bytes")
    if not stored and not as_json:
        admin.say("No builds.")
    return 0


def _build_document(release: Release) -> dict[str, Any]:
    return {
        "id": release.id,
        "os": release.os,
        "version": release.version,
        "name": release.name,
        "bytes": release.size,
        "sha256": release.sha256,
        "uploadedAt": iso(release.uploaded_at),
        "url": release.url,
    }


def build_arguments(parser: argparse.ArgumentParser) -> None:
    """``list``, ``remove OS ID``"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_json_option(actions.add_parser("list", help="list the stored builds"))
    remove = actions.add_parser("remove", help="remove one build permanently; the next sweep deletes its file")
    remove.add_argument("os", metavar="OS")
    remove.add_argument("id", metavar="ID", type=parse_count)
    add_yes_option(remove)


def fill_demo_builds(admin: Any) -> None:
    """Add sample builds for three systems and two changelog sections, unless there are builds already."""
    with admin.writing() as (session, manager):
        if session.scalar(select(Build.id).limit(1)) is not None:
            return
        for os, version in DEMO_BUILDS:
            _add_sample_build(session, manager, admin.store, os, version)
        for section in DEMO_SECTIONS:
            services.push_section(session, services.clean_section(section))


def _add_sample_build(session: Session, manager: Any, store: Any, os: str, version: str) -> None:
    archive_file = io.BytesIO()
    with zipfile.ZipFile(archive_file, "w") as archive:
        archive.writestr("README.txt", f"A sample build for {os}, version {version}. It does nothing.\n")
    archive_file.seek(0)
    blob = stage(manager, store, archive_file, limits.BUILD)
    build = Build(os=os, version=version, name=f"modhub-{os}.zip", content_type="application/zip")
    services.add_build(session, build, blob)


def includeme(config: Configurator) -> None:
    """Register the command."""
    config.add_command(AdminCommand("build", "the stored app builds", build_arguments, run_build, examples=_EXAMPLES))
