"""``modhub-admin demo``: sample games and mods, made through the same functions as anybody's; again adds none."""

import io
import random
import zipfile
from dataclasses import dataclass
from typing import Any

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub import limits
from modhub.blobs import stage
from modhub.catalogue import services, uploads, voting
from modhub.catalogue.commands import add_game, find_game
from modhub.catalogue.models import AssetKind, Mod, Note
from modhub.catalogue.request_schemas import ModChange, NewMod, NoteChange
from modhub.catalogue.samples import ABSENT, SAMPLE_AUTHORS, SAMPLE_FILES, SAMPLE_GAMES, SAMPLE_MODS, Sample
from modhub.catalogue.uploads import AssetUpload
from modhub.interfaces import IDemoAccounts
from modhub.service_registry import find_optional_service

FIRST_ACCOUNT = 900_000_001
"""The first of the numbers that stand for the authors where no feature gives accounts."""


def fill_demo(admin: Any) -> None:
    """Fill the catalogue; what is there already stays as it is."""
    _fill_games(admin)
    with admin.writing() as (session, _):
        owners = _owners(admin, session)
    guids = {ABSENT: ABSENT}
    for sample in SAMPLE_MODS:
        guids[sample.title] = _fill_mod(admin, sample, owners, guids)
    for sample in SAMPLE_MODS:
        _fill_relations(admin, sample, owners, guids)


def _owners(admin: Any, session: Session) -> dict[str, int]:
    accounts = find_optional_service(admin.registry, IDemoAccounts)
    if accounts is None:
        return {name: FIRST_ACCOUNT + at for at, name in enumerate(SAMPLE_AUTHORS)}
    return {name: accounts.account_for(session, name) for name in SAMPLE_AUTHORS}


def _fill_games(admin: Any) -> None:
    for game in SAMPLE_GAMES:
        with admin.reading() as session:
            known = find_game(session, game.name) is not None
        if known:
            continue
        add_game(admin, game.name, game.shown, SAMPLE_FILES / game.icon if game.icon else None)


def _fill_mod(admin: Any, sample: Sample, owners: dict[str, int], guids: dict[str, str]) -> str:
    """The GUID of the sample, made unless its author has a mod of that title."""
    owner = owners[sample.author]
    with admin.writing() as (session, manager):
        known = session.scalar(select(Mod.guid).where(Mod.owner == owner, Mod.title == sample.title))
        if known is not None:
            return str(known)
        needed = [guids[title] for title in sample.requires if title in guids]
        mod = services.create_mod(
            session, owner, NewMod(sample.title, sample.description, list(sample.games), needed).words()
        )
        shelf = Shelf(admin, session, manager, mod)
        for version, note in sample.releases:
            shelf.release(sample, version, note)
        for at, image in enumerate(sample.images, 1):
            shelf.put((SAMPLE_FILES / image).read_bytes(), AssetKind.IMAGE, f"picture-{at}.png", "image/png")
        if sample.css:
            shelf.put(sample.css.encode(), AssetKind.CSS, "panel.css", "text/css")
        if sample.published:
            services.publish_mod(session, mod.id, owner)
        return mod.guid


@dataclass(frozen=True, slots=True)
class Shelf:
    """A mod whose files are being put in place, in one transaction."""

    admin: Any
    session: Session
    manager: Any
    mod: Mod

    def put(self, content: bytes, kind: AssetKind, name: str, content_type: str, *, version: str = "") -> None:
        """One upload."""
        blob = stage(self.manager, self.admin.store, io.BytesIO(content), uploads.LIMITS[kind])
        given = AssetUpload(kind, name, content_type, blob, version)
        uploads.store_upload(self.session, self.mod.id, self.mod.owner, given)

    def release(self, sample: Sample, version: str, note: str) -> None:
        """One upload of code, and what its author wrote about it."""
        name = f"{sample.title.split()[0].lower()}-{version}.zip"
        self.put(_archive(sample, version), AssetKind.CODE, name, "application/zip", version=version)
        if note:
            mod = self.mod
            entry = self.session.scalar(select(Note.id).where(Note.mod_id == mod.id, Note.version == version))
            services.edit_note(self.session, mod.id, entry, mod.owner, NoteChange(text=note).words())


def _archive(sample: Sample, version: str) -> bytes:
    """A zip file of the sample's size, the same bytes every time."""
    archive = io.BytesIO()
    filler = random.Random(sample.title + version)  # noqa: S311 - filler, no secret
    with zipfile.ZipFile(archive, "w") as files:
        about = f"{sample.title} {version}\nA sample of modhub-admin demo.\n"
        files.writestr(zipfile.ZipInfo("README.txt"), about)
        files.writestr(zipfile.ZipInfo("data.bin"), filler.randbytes(sample.kilobytes * limits.KB))
    return archive.getvalue()


def _fill_relations(admin: Any, sample: Sample, owners: dict[str, int], guids: dict[str, str]) -> None:
    """What names mods that were made later, and the votes; both come to the same when they are set again."""
    owner = owners[sample.author]
    with admin.writing() as (session, _):
        found = select(Mod).where(Mod.guid == guids[sample.title])
        mod = session.scalars(found).one()
        conflicts = [guids[title] for title in sample.conflicts]
        needed = [guids[title] for title in sample.requires]
        change = ModChange(requires=needed, conflicts_with=conflicts).words()
        services.edit_mod(session, mod.id, owner, change)
        for name in (*sample.fans, *sample.critics) if mod.published else ():
            voting.cast_vote(session, mod.id, owners[name], -1 if name in sample.critics else 1)


def includeme(config: Configurator) -> None:
    """The samples of the catalogue."""
    config.add_demo("mods and games", fill_demo, order=50)
