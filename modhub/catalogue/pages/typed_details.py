"""What authors type into the details of a mod: mods by title, address or GUID, and games."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from modhub.base.errors import ApiError, invalid
from modhub.catalogue.bodies import fold_guid
from modhub.catalogue.documents import decode_mod
from modhub.catalogue.owning.child_views import find_known, match_address
from modhub.catalogue.owning.reads import read_titles
from modhub.catalogue.owning.views import account_id_of
from modhub.catalogue.pages.cards import CuratedGames
from modhub.catalogue.reading.service import ListParams
from modhub.catalogue.reading.views import catalogue_reader
from modhub.content import limits
from modhub.content.folding import fold_game, fold_search
from modhub.content.text import N_
from modhub.web.request import Request

REFERENCES: Final = {"requires": "requires", "conflicts_with": "conflictsWith", "superseded_by": "supersededBy"}
"""The fields that name mods, and their names in forms."""
MAX_LOOKED_UP: Final = 2 * limits.GUIDS
_GUID_AT_END: Final = re.compile(r"(?:^|[\s(])([0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})\)?$")
_COMMA: Final = re.compile(r",(?![0-9]{3}\b)|(?<![0-9]),")


def resolve_references(request: Request, fields: dict[str, Any]) -> list[ApiError]:
    """Replace titles and addresses in ``fields`` by GUIDs; returns the errors, one for each field at most.

    Published mods and those of the caller are known. Somebody else's draft is like a mod that does not exist.
    """
    errors = []
    for name, label in REFERENCES.items():
        entries = fields.get(name)
        if not entries:
            continue
        try:
            looked_up = [resolve_reference(request, entry, label) for entry in entries[:MAX_LOOKED_UP]]
            fields[name] = [*looked_up, *entries[MAX_LOOKED_UP:]]
        except ApiError as error:
            fields[name] = []
            errors.append(error)
    return errors


def resolve_reference(request: Request, entry: str, field: str) -> str:
    """The GUID of the mod that an author has typed: its title, address or GUID, or a title with its GUID.

    400 if there is none or more than one of this title. A GUID may be that of a mod which is not here yet.
    """
    at_end = _GUID_AT_END.search(entry)
    if at_end:
        return at_end[1]
    address = match_address(request, entry)
    guids = _by_id(request, address[1]) if address else _by_title(request, entry)
    if len(guids) == 1:
        return next(iter(guids))
    if guids:
        message = N_("Several mods are called “%(name)s”. Enter the address of the one you mean.")
        raise invalid(message, name=entry[: limits.TITLE], field=field)
    message = N_("There is no mod “%(name)s” on this site. Enter its title, its address or its GUID.")
    raise invalid(message, name=entry[: limits.TITLE], field=field)


def _by_id(request: Request, segment: str) -> set[str]:
    mod = find_known(request, segment)
    return set() if mod is None else {mod.guid}


def _by_title(request: Request, title: str) -> set[str]:
    folded = fold_search(title).strip()
    hits = catalogue_reader(request).find(ListParams(q=title[: limits.QUERY], size=limits.PAGE_SIZE_MOST))
    titles = {document.guid: document.title for document in map(decode_mod, hits.documents)}
    with request.databases.readonly_session() as session:
        own_titles = read_titles(session, account_id_of(request))
    return {guid for guid, known in (titles | own_titles).items() if fold_search(known).strip() == folded}


def reference_lines(guids: Iterable[str], titles: Mapping[str, str]) -> str:
    """Return the lines of a form for these mods: title and GUID, or the GUID of an unknown mod."""
    named = [(guid, titles.get(fold_guid(guid))) for guid in guids]
    return "\n".join(f"{title} – {guid}" if title else guid for guid, title in named)


def split_games(lines: list[str], kept: Iterable[str], curated: CuratedGames) -> list[str]:
    """The games of these lines: one each; a single line that is no game in ``kept`` or ``curated`` is split at commas.

    Not at those in numbers such as 40,000. A curated game is known by the name that pages show for it too: authors type
    what they read.
    """
    shown = {fold_game(game.display_name): game.name for game in curated.values()}
    shown = {folded: name for folded, name in shown.items() if folded not in curated}
    known = {*curated, *shown, *map(fold_game, kept)}
    parts = lines if len(lines) > 1 or fold_game("".join(lines)) in known else _COMMA.split("".join(lines))
    games = (part if fold_game(part) in known else part.strip(" ,") for part in parts)
    return [shown.get(fold_game(game), game) for game in games if game]
