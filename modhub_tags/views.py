"""Tags for programs."""

from typing import Annotated, Any

from msgspec import Struct
from pyramid.response import Response

from modhub.base.errors import not_found
from modhub.base.operations import Operation, Refusal, about
from modhub.plugins.resources import ICatalogue
from modhub.plugins.services import IMods
from modhub.web.payload import encode, read_json
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.views import OPEN, api
from modhub_tags import services
from modhub_tags.limits import MOST
from modhub_tags.read_service import listed_tags, tags_of_mod
from modhub_tags.resources import ITags, TagPermission, TagsResource


class TagsChange(Struct):
    """``PUT /api/modhub/{id}/tags``"""

    tags: Annotated[
        list[str],
        about(f"Names of the list, at most {MOST}; a name that is sent twice counts once", ["map", "timer"]),
    ]


class TagsDocument(Struct):
    """The tags of a mod, by name."""

    tags: Annotated[list[str], about("The names of the mod's tags, by name", ["map", "timer"])]


class TitlesDocument(Struct):
    """What readers see of a tag, by language."""

    en: Annotated[str, about("The English title", "Map")]
    de: Annotated[str, about("The German title", "Karte")]


class ListedTag(Struct):
    """A tag of the operator's list."""

    name: Annotated[str, about("1 to 32 of `a` to `z`, `0` to `9` and `-`; what calls and addresses use", "map")]
    titles: Annotated[TitlesDocument, about("What to show, by language")]


class TagListDocument(Struct):
    """``GET /api/modhub/tags``"""

    tags: Annotated[list[ListedTag], about("The tags, by name")]


@api(
    context=ICatalogue,
    name="tags",
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="list_tags",
        about="The tags that the operator offers, with their titles.",
        returns=TagListDocument,
        clauses=("C-TAG-1", "C-TAG-2"),
    ),
)
def list_tags_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/tags``: the operator's list."""
    listed = listed_tags(request.databases.raw_queries)
    tags = [ListedTag(tag.name, TitlesDocument(tag.en, tag.de)) for tag in listed]
    return public_json(encode(TagListDocument(tags)))


@api(
    context=ITags,
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="read_tags",
        about="The tags of a published mod.",
        returns=TagsDocument,
        refusals=(Refusal(404, "not_found", "No such mod, or it is a draft or hidden."),),
        clauses=("C-TAG-2",),
    ),
)
def read_tags_view(context: TagsResource, request: Request) -> Response:
    """``GET /api/modhub/{id}/tags``"""
    mod = context.find_mod(request.dbsession)
    if mod is None or not mod.published:
        raise not_found()
    tags = tags_of_mod(request.databases.raw_queries, mod.id)
    return public_json(encode(TagsDocument([tag.name for tag in tags])))


@api(
    context=ITags,
    request_method="PUT",
    permission=TagPermission.EDIT,
    operation=Operation(
        id="change_tags",
        about="Give a mod these tags and no others.",
        takes=TagsChange,
        returns=TagsDocument,
        refusals=(Refusal(400, "invalid_input", "More than five tags, or a name that is not in the list."),),
        clauses=("C-TAG-3", "C-MOD-13"),
    ),
)
def change_tags_view(context: TagsResource, request: Request) -> TagsDocument:
    """``PUT /api/modhub/{id}/tags``: of a draft too."""
    names = read_json(request, TagsChange).tags
    owner: int = request.authenticated_userid
    tags = services.change_tags(request.dbsession, request.find_service(IMods), context.mod_id, owner, names)
    return TagsDocument(tags)
