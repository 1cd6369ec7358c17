"""What can be reported: a published mod with its images, and an author with a page."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_optional_service
from modhub.plugins.services import IMods, IProfiles, IPublicMods
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub_moderation.cases.models import SubjectKind

_NO_ID: Final = 0
"""In place of what is no id: the statement runs for it, too, so that the time reveals nothing (T-B4)."""


class Subject(NamedTuple):
    """A mod or an author that everybody can see."""

    kind: SubjectKind
    id: int
    owner_id: int
    title: str
    """The title of the mod, or the author's name."""
    address: str
    """The path of its page."""
    guid: str = ""


class ReportedImage(NamedTuple):
    """An image of a mod that can be named in a report."""

    id: int
    name: str


class _File(msgspec.Struct):
    kind: str
    name: str
    url: str


class _Files(msgspec.Struct):
    assets: list[_File] = []


def find_reported_mod(request: Request, session: Session, mod_id: int | None) -> Subject | None:
    """The published mod; None for drafts, hidden and absent ones alike."""
    number = mod_id or _NO_ID
    mod = request.find_service(IMods).get_mods(session, [number]).get(number)
    if mod is None or not mod.published:
        return None
    return Subject(SubjectKind.MOD, mod.id, mod.owner, mod.title, f"/Modhub/{mod.id}", mod.guid)


def find_reported_author(request: Request, session: Session, account_id: int | None) -> Subject | None:
    """The author whose page ``/Modhub/by/{accountId}`` exists."""
    number, profiles = account_id or _NO_ID, find_optional_service(request.registry, IProfiles)
    profile = None if profiles is None else profiles.get_profiles({number}).get(number)
    mods = request.find_service(IMods).get_mods_of_account(session, number)
    if profile is None or not any(mod.published for mod, _ in mods):
        return None
    return Subject(SubjectKind.ACCOUNT, number, number, profile.name, f"/Modhub/by/{number}")


def list_images(request: Request, subject: Subject) -> Sequence[ReportedImage]:
    """The images of the mod, in their order; an author has none."""
    documents = request.find_service(IPublicMods).get_documents([subject.guid]) if subject.guid else {}
    files = [file for encoded in documents.values() for file in msgspec.json.decode(encoded, type=_Files).assets]
    images = ((parse_id(file.url.rpartition("/")[2]), file.name) for file in files if file.kind == "image")
    return [ReportedImage(asset_id, name) for asset_id, name in images if asset_id is not None]
