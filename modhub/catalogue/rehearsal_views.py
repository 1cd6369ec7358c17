"""``POST /api/modhub/{id}/rehearsal`` and its page in the workshop."""

from typing import Any

import msgspec

from modhub.catalogue import operations, rehearsal
from modhub.catalogue.archives import ArchiveProblem
from modhub.catalogue.models import AssetKind
from modhub.catalogue.owner_queries import read_mod, read_notes, read_pictures
from modhub.catalogue.owner_views import account_id_of, readable_mods
from modhub.catalogue.public_views import catalogue_reader
from modhub.catalogue.rehearsal import (
    IMAGE_PROBLEMS,
    TEXT_PROBLEMS,
    ImageProblem,
    OwnMods,
    RehearsalDocument,
    RehearsedSuccessor,
    TextProblem,
    check_draft,
)
from modhub.catalogue.resources import ModPermission, ModResource
from modhub.catalogue.response_schemas import decode_mod
from modhub.catalogue.successors import read_successor
from modhub.content.folding import fold_game
from modhub.plugins.resources import IMine, IMod, IOwnMod
from modhub.plugins.services import IPublicMods
from modhub.web.request import Request
from modhub.web.views import api, page


def rehearse(request: Request, mod_id: int | None) -> RehearsalDocument:
    """Return what visitors would get if the caller's mod were published as it is now."""
    owner = account_id_of(request)
    games = {fold_game(game.name) for game in catalogue_reader(request).games()}
    with request.databases.readonly_session() as session:
        mod, notes = read_mod(session, mod_id, owner), read_notes(session, mod_id, owner)
        own = OwnMods(mod, readable_mods(request, session))
        guid, successor = read_successor(session, mod_id, owner)
        problems = list(check_draft(mod, notes, read_pictures(session, [mod]), games=games))
        code = next((asset for asset in mod.assets if asset.kind == AssetKind.CODE), None)
        archive = msgspec.convert((code and code.archive_problems) or [], list[ArchiveProblem])
    chain = rehearsal.rehearse_chain(request.find_service(IPublicMods), mod, own)
    install, missing, unpublished, conflicts = chain
    is_blocked = any(problem.is_blocking for problem in problems)
    texts = dict.fromkeys((found.about, found.problem) for found in problems if found.problem in TEXT_PROBLEMS)
    return RehearsalDocument(
        ready=not (is_blocked or missing or unpublished or conflicts or archive),
        install=install,
        missing=missing,
        unpublished=unpublished,
        conflicts=conflicts,
        trimmed=[found.about for found in problems if found.problem == "trimmed"],
        archive=archive,
        games=[found.name for found in problems if found.problem == "unlisted"],
        texts=[TextProblem(*found) for found in texts],
        images=[
            ImageProblem(found.asset_id, found.name, found.problem)
            for found in problems
            if found.problem in IMAGE_PROBLEMS
        ],
        superseded_by=RehearsedSuccessor(guid, successor is not None) if guid else None,
    )


@api(
    context=IMod,
    name="rehearsal",
    request_method="POST",
    permission=ModPermission.EDIT,
    operation=operations.REHEARSE_MOD,
)
def rehearsal_view(context: ModResource, request: Request) -> RehearsalDocument:
    """``POST /api/modhub/{id}/rehearsal``: changes nothing."""
    return rehearse(request, context.id)


@page(
    context=IOwnMod,
    containment=IMine,
    name="rehearsal",
    request_method="GET",
    permission=ModPermission.EDIT,
    renderer="modhub.catalogue:templates/workshop/rehearsal.jinja2",
)
def rehearsal_page(context: ModResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/{id}/rehearsal``"""
    report = rehearse(request, context.id)
    install = [decode_mod(document) for document in report.install]
    titles = {document.guid.lower(): document.title for document in install}
    return {"report": report, "install": install, "titles": titles, "mod": install[-1]}
