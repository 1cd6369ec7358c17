"""What stands beside mods, of many at once: for lists that show more than the fields of a mod."""

from collections import defaultdict
from collections.abc import Collection
from typing import Annotated, Any, Final

from msgspec import UNSET, Struct, UnsetType
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.errors import invalid
from modhub.base.operations import Operation, Refusal, about, body_over, documented_as
from modhub.base.service_registry import find_optional_service
from modhub.catalogue.documents import CaptionDocument, VotesDocument, caption_document, code_digest
from modhub.catalogue.models import IS_IMAGE, Asset, Mod, PublicMod, Successor
from modhub.catalogue.owning.successors import SuccessorDocument, successor_document
from modhub.catalogue.reading.lookup import LAST_ID
from modhub.catalogue.reading.statements import IMAGE_ORDER
from modhub.content.limits import KB, PAGE_SIZE_MOST
from modhub.content.text import N_
from modhub.plugins.declarations import Declarations
from modhub.plugins.resources import ICatalogue
from modhub.plugins.services import IProfiles
from modhub.web.payload import read_json
from modhub.web.request import Request
from modhub.web.views import OPEN, api

DETAILS_QUESTION: Final = 64 * KB


class DetailsRequest(Struct):
    """``POST /api/modhub/details``"""

    ids: Annotated[list[int], about(f"Numbers of mods, at most {PAGE_SIZE_MOST}", [12])]

    def cleaned(self) -> list[int]:
        """The numbers in order, each once; 400 for too many."""
        ids = list(dict.fromkeys(self.ids))
        if len(ids) > PAGE_SIZE_MOST:
            message = N_("%(field)s may list at most %(most)s entries; there are %(count)s.")
            raise invalid(message, field="ids", most=PAGE_SIZE_MOST, count=len(ids))
        return ids


class AuthorDocument(Struct, rename="camel"):
    """Who publishes a mod."""

    account_id: Annotated[int, about("The number of the account", 7)]
    display_name: Annotated[str, about("What people see", "Modder 7")]
    url: Annotated[str, about("The page for people", "/Modhub/by/7")]


class DetailDocument(Struct, rename="camel"):
    """What stands beside a mod."""

    id: Annotated[int, about("The number in addresses", 12)]
    guid: Annotated[str, about("The GUID of the mod", "8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21")]
    sha256: Annotated[
        str,
        about("SHA-256 of its code file", "9b6f0f6c3f0e8b6f4b4f4a1d7a5c3e2f1d0c9b8a7f6e5d4c3b2a190817263544"),
    ]
    votes: Annotated[VotesDocument, about("The votes on it")]
    captions: Annotated[list[CaptionDocument], about("Its images in their owner's order, with their captions")]
    superseded_by: Annotated[SuccessorDocument | None, about("The published mod that takes its place, or null")]
    author: Annotated[
        AuthorDocument | UnsetType | None,
        about("Its author; null if nobody owns it; absent from a service without accounts"),
    ] = UNSET
    downloads: Annotated[
        int | UnsetType, about("How often it was downloaded; absent from a service that does not count", 42)
    ] = UNSET
    tags: Annotated[list[str] | UnsetType, about("Its tags by name; absent from a service without tags", ["map"])] = (
        UNSET
    )
    links: Annotated[
        dict[str, str | None] | UnsetType,
        about("What the call for its links answers; absent from a service without links"),
    ] = UNSET


class DetailsDocument(Struct):
    """``POST /api/modhub/details``"""

    details: Annotated[
        list[Annotated[dict[str, Any], documented_as("DetailDocument")]], about("The mods in the order asked")
    ]
    missing: Annotated[list[int], about("Numbers that no published mod has, in the order asked", [13])]


@api(
    context=ICatalogue,
    name="details",
    request_method="POST",
    permission=OPEN,
    operation=Operation(
        id="read_details",
        about="Author, votes, downloads, tags, captions, links and successor of many mods at once.",
        takes=DetailsRequest,
        returns=DetailsDocument,
        schemas=(DetailDocument,),
        refusals=(
            Refusal(400, "invalid_input", f"No list, an item that is no integer, or more than {PAGE_SIZE_MOST} mods."),
            body_over(DETAILS_QUESTION),
        ),
        clauses=("C-READ-13",),
    ),
)
def read_details_view(_context: Any, request: Request) -> DetailsDocument:
    """``POST /api/modhub/details``"""
    request.answers_anybody = True
    ids = read_json(request, DetailsRequest, DETAILS_QUESTION).cleaned()
    with request.databases.readonly_session() as session:
        details = find_details(request.registry, session, [mod_id for mod_id in ids if 0 < mod_id <= LAST_ID])
    shown = [details[mod_id] for mod_id in ids if mod_id in details]
    return DetailsDocument(shown, [mod_id for mod_id in ids if mod_id not in details])


def find_details(registry: Any, session: Session, ids: Collection[int]) -> dict[int, dict[str, Any]]:
    """What stands beside those of these mods that are published, by id; the number of statements is constant."""
    columns = (PublicMod.id, PublicMod.guid, PublicMod.owner, PublicMod.links, Mod.ups, Mod.downs)
    mods = session.execute(select(*columns).join(Mod, Mod.id == PublicMod.id).where(PublicMod.id.in_(ids))).all()
    found = [mod.id for mod in mods]
    captions, successors = _captions(session, found), _successors(session, found)
    details = {
        mod.id: {
            "id": mod.id,
            "guid": mod.guid,
            "sha256": code_digest(mod.links),
            "votes": VotesDocument(mod.ups, mod.downs),
            "captions": captions[mod.id],
            "supersededBy": successors.get(mod.id),
        }
        for mod in mods
    }
    profiles = find_optional_service(registry, IProfiles)
    if profiles is not None:
        names = profiles.get_profiles({mod.owner for mod in mods})
        for mod in mods:
            profile = names.get(mod.owner)
            author = None if profile is None else AuthorDocument(mod.owner, profile.name, f"/Modhub/by/{mod.owner}")
            details[mod.id]["author"] = author
    for field, read in registry[Declarations].mod_details.items():
        values = read(session, found)
        for mod_id, detail in details.items():
            detail[field] = values[mod_id]
    return details


def _captions(session: Session, ids: Collection[int]) -> dict[int, list[CaptionDocument]]:
    """The images of each mod in their owner's order."""
    images = select(Asset.mod_id, Asset.id, Asset.caption)
    images = images.where(Asset.mod_id.in_(ids), IS_IMAGE)
    captions: dict[int, list[CaptionDocument]] = defaultdict(list)
    for mod_id, asset_id, caption in session.execute(images.order_by(*IMAGE_ORDER)):
        captions[mod_id].append(caption_document(asset_id, caption))
    return captions


def _successors(session: Session, ids: Collection[int]) -> dict[int, SuccessorDocument | None]:
    """Which of these mods a published one supersedes."""
    joined = select(Successor.mod_id, PublicMod.document).join(PublicMod, PublicMod.guid == Successor.guid)
    rows = session.execute(joined.where(Successor.mod_id.in_(ids)))
    return {mod_id: successor_document(document) for mod_id, document in rows}
