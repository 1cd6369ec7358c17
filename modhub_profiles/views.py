"""The links of a mod for programs, and the pictures of authors."""

from collections.abc import Collection
from typing import Annotated, ClassVar

from msgspec import UNSET, Struct, UnsetType
from pyramid.response import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.errors import not_found
from modhub.base.operations import Operation, Refusal, about, body_over
from modhub.plugins.services import IMods
from modhub.web.downloads import file_response
from modhub.web.payload import encode, read_json
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.views import OPEN, api, page
from modhub_profiles import services
from modhub_profiles.licenses import clean_license
from modhub_profiles.limits import BODY
from modhub_profiles.models import ModLinks
from modhub_profiles.read_service import ProfileReader, ShownLinks
from modhub_profiles.resources import AuthorPictureResource, IAuthorPicture, IModLinks, LinksResource, ProfilePermission
from modhub_profiles.web_links import clean_link

LinkText = str | UnsetType | None


class LinksChange(Struct):
    """``PUT /api/modhub/{id}/links``: only what is sent is changed; ``null`` clears it."""

    nullable: ClassVar[frozenset[str]] = frozenset({"source", "report", "community", "license"})

    source: Annotated[
        LinkText,
        about("Where its source code is, an https address; null clears it", "https://github.com/ada/split-timer"),
    ] = UNSET
    report: Annotated[
        LinkText,
        about(
            "Where problems with it are reported to its author, an https address; null clears it",
            "https://github.com/ada/split-timer/issues",
        ),
    ] = UNSET
    community: Annotated[LinkText, about("Where its users meet, an https address; null clears it", None)] = UNSET
    license: Annotated[
        LinkText,
        about("An SPDX licence expression; or `other: ` and your own words; null clears it", "MIT"),
    ] = UNSET

    def cleaned(self) -> dict[str, str]:
        """The fields that were sent, as they are stored: empty for ``null``. 400 for the first that breaks a rule."""
        sent = {name: getattr(self, name) for name in self.__struct_fields__}
        clean = {"license": clean_license}
        return {
            name: clean.get(name, clean_link)(value or "", name)
            for name, value in sent.items()
            if not isinstance(value, UnsetType)
        }


class LinksDocument(Struct):
    """``GET`` and ``PUT /api/modhub/{id}/links``; null where the owner has set nothing."""

    source: Annotated[str | None, about("Where its source code is", "https://github.com/ada/split-timer")]
    report: Annotated[
        str | None,
        about("Where problems with it are reported to its author", "https://github.com/ada/split-timer/issues"),
    ]
    community: Annotated[str | None, about("Where its users meet", None)]
    license: Annotated[
        str | None,
        about("An SPDX licence expression; or `other: ` and the owner's own words", "MIT"),
    ]


def links_document(links: ModLinks | ShownLinks) -> LinksDocument:
    """The document of stored links."""
    return LinksDocument(links.source or None, links.report or None, links.community or None, links.license or None)


def links_of_mods(session: Session, mod_ids: Collection[int]) -> dict[int, LinksDocument]:
    """The links of each of these mods."""
    stored = session.scalars(select(ModLinks).where(ModLinks.mod_id.in_(mod_ids)))
    return dict.fromkeys(mod_ids, links_document(ShownLinks())) | {row.mod_id: links_document(row) for row in stored}


@api(
    context=IModLinks,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_links",
        about="Where the source of a published mod is, where to report a problem, its community, and its licence.",
        returns=LinksDocument,
        refusals=(Refusal(404, "not_found", "No such mod, or it is a draft or hidden."),),
        clauses=("C-PRF-1", "C-PRF-6"),
    ),
)
def read_links_view(context: LinksResource, request: Request) -> Response:
    """``GET /api/modhub/{id}/links``: 404 for a mod that not everybody sees, to its owner too."""
    mod = context.find_mod(request.dbsession)
    if mod is None or not mod.published:
        raise not_found()
    links = ProfileReader(request.databases.raw_queries).links_of(context.mod_id or 0)
    return public_json(encode(links_document(links)))


@api(
    context=IModLinks,
    request_method="PUT",
    permission=ProfilePermission.LINKS,
    operation=Operation(
        id="change_links",
        about="Change the links and the licence of a mod; null clears one.",
        takes=LinksChange,
        returns=LinksDocument,
        refusals=(
            Refusal(400, "invalid_input", "A link or the licence breaks a rule; nothing is changed."),
            body_over(BODY),
        ),
        clauses=("C-PRF-1", "C-PRF-2", "C-PRF-3"),
    ),
)
def change_links_view(context: LinksResource, request: Request) -> LinksDocument:
    """``PUT /api/modhub/{id}/links``: of a draft too."""
    changes = read_json(request, LinksChange, BODY).cleaned()
    mods, owner = request.find_service(IMods), request.authenticated_userid
    return links_document(services.change_links(request.dbsession, mods, context.mod_id, owner, changes))


@page(context=IAuthorPicture, request_method="GET", permission=OPEN)
def read_picture(context: AuthorPictureResource, request: Request) -> Response:
    """``GET /Modhub/by/{accountId}/picture/{name}``: there as long as the author's page is."""
    picture = ProfileReader(request.databases.raw_queries).profile_of(context.author.id or 0).picture
    if picture is None or picture.name != context.__name__ or not context.author.exists:
        raise not_found()
    return file_response(request, request.store, picture.stored_file(private=False))
