"""``modhub-admin demo``: sample games and mods, created by the regular service functions. Safe to run again."""

import io
import random
import zipfile
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_optional_service
from modhub.blobs import stage
from modhub.catalogue import services, uploads, voting
from modhub.catalogue.commands import add_game
from modhub.catalogue.models import AssetKind, Game, Mod, Note
from modhub.catalogue.request_schemas import ModChange, NewMod, NoteChange
from modhub.catalogue.samples import ABSENT, SAMPLE_AUTHORS, SAMPLE_FILES, SAMPLE_GAMES, SAMPLE_MODS, Sample
from modhub.catalogue.uploads import AssetUpload
from modhub.content import limits
from modhub.content.folding import fold_game
from modhub.plugins.services import IAccounts

FIRST_ACCOUNT = 900_000_001
"""The first account number of the sample authors if no feature provides accounts."""


def fill_demo(admin: Any) -> None:
    """Add the samples; existing ones are left unchanged."""
    _fill_games(admin)
    with admin.writing() as (session, _):
        owners = _owners(admin, session)
    guids = {ABSENT: ABSENT}
    for sample in SAMPLE_MODS:
        guids[sample.title] = _fill_mod(admin, sample, owners, guids)
    for sample in SAMPLE_MODS:
        _fill_relations(admin, sample, owners, guids)


def _owners(admin: Any, session: Session) -> dict[str, int]:
    accounts = find_optional_service(admin.registry, IAccounts)
    if accounts is None:
        return {name: FIRST_ACCOUNT + index for index, name in enumerate(SAMPLE_AUTHORS)}
    return {name: accounts.make_sample(session, name) for name in SAMPLE_AUTHORS}


def _fill_games(admin: Any) -> None:
    for game in SAMPLE_GAMES:
        with admin.reading() as session:
            exists = session.scalar(select(Game.id).where(Game.folded == fold_game(game.name))) is not None
        if exists:
            continue
        add_game(admin, game.name, game.display_name, SAMPLE_FILES / game.icon if game.icon else None)


def _fill_mod(admin: Any, sample: Sample, owners: dict[str, int], guids: dict[str, str]) -> str:
    """Create the sample unless its author has a mod with that title; return its GUID."""
    owner = owners[sample.author]
    with admin.writing() as (session, manager):
        guid = session.scalar(select(Mod.guid).where(Mod.owner == owner, Mod.title == sample.title))
        if guid is not None:
            return str(guid)
        requires = [guids[title] for title in sample.requires if title in guids]
        mod = services.create_mod(
            session,
            owner,
            NewMod(
                title=sample.title, description=sample.description, games=list(sample.games), requires=requires
            ).cleaned(),
        )
        uploader = SampleUploader(admin, session, manager, mod)
        for version, note in sample.releases:
            uploader.release(sample, version, note)
        for number, image in enumerate(sample.images, 1):
            uploader.upload((SAMPLE_FILES / image).read_bytes(), AssetKind.IMAGE, f"picture-{number}.png", "image/png")
        if sample.css:
            uploader.upload(sample.css.encode(), AssetKind.CSS, "panel.css", "text/css")
        if sample.published:
            services.publish_mod(session, mod.id, owner)
        return mod.guid


@dataclass(frozen=True, slots=True)
class SampleUploader:
    """Uploads the files of one sample mod in the current transaction."""

    admin: Any
    session: Session
    manager: Any
    mod: Mod

    def upload(self, content: bytes, kind: AssetKind, name: str, content_type: str, *, version: str = "") -> None:
        """Upload one file."""
        blob = stage(self.manager, self.admin.store, io.BytesIO(content), uploads.LIMITS[kind])
        asset = AssetUpload(kind, name, content_type, blob, version)
        uploads.store_upload(self.session, self.mod.id, self.mod.owner, asset)

    def release(self, sample: Sample, version: str, note: str) -> None:
        """Upload one version of the code and write its changelog entry."""
        name = f"{sample.title.split()[0].lower()}-{version}.zip"
        self.upload(_archive(sample, version), AssetKind.CODE, name, "application/zip", version=version)
        if note:
            mod = self.mod
            note_id = self.session.scalar(select(Note.id).where(Note.mod_id == mod.id, Note.version == version))
            services.edit_note(self.session, mod.id, note_id, mod.owner, NoteChange(text=note).cleaned())


def _archive(sample: Sample, version: str) -> bytes:
    """Return a zip file of the sample's size; always the same bytes."""
    archive = io.BytesIO()
    filler = random.Random(sample.title + version)  # noqa: S311 - filler, not a secret
    with zipfile.ZipFile(archive, "w") as files:
        readme = f"{sample.title} {version}\nA sample of modhub-admin demo.\n"
        files.writestr(zipfile.ZipInfo("README.txt"), readme)
        files.writestr(zipfile.ZipInfo("data.bin"), filler.randbytes(sample.kilobytes * limits.KB))
    return archive.getvalue()


def _fill_relations(admin: Any, sample: Sample, owners: dict[str, int], guids: dict[str, str]) -> None:
    """Set what refers to mods created later, and the votes; setting them again changes nothing."""
    owner = owners[sample.author]
    with admin.writing() as (session, _):
        mod = session.scalars(select(Mod).where(Mod.guid == guids[sample.title])).one()
        conflicts = [guids[title] for title in sample.conflicts]
        requires = [guids[title] for title in sample.requires]
        change = ModChange(requires=requires, conflicts_with=conflicts).cleaned()
        services.edit_mod(session, mod.id, owner, change)
        for name in (*sample.fans, *sample.critics) if mod.published else ():
            voting.cast_vote(session, mod.id, owners[name], -1 if name in sample.critics else 1)
