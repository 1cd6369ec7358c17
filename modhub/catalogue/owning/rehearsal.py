"""What is wrong with a draft; and the rehearsal of a publication: what visitors would get if it were published now.

A rehearsal knows published mods and those of the caller. Somebody else's draft is like a GUID that nobody has.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

import msgspec

from modhub.base.operations import about, documented_as
from modhub.catalogue.bodies import fold_guid
from modhub.catalogue.documents import NoteDocument, images_of, mod_document
from modhub.catalogue.models import AssetKind, Mod
from modhub.catalogue.owning.archives import ArchiveProblem
from modhub.catalogue.pictures.models import PictureSet, is_shown
from modhub.content import limits
from modhub.content.folding import fold_game
from modhub.content.markup import to_text
from modhub.plugins.services import IPublicMods

MAX_ROUNDS: Final = 10
"""How often a chain may lead from the caller's drafts to published mods and back."""
_IMAGE: Final = re.compile(r"<img\b[^>]*>")
_ALT: Final = re.compile(r'\salt="[^"]*\S[^"]*"')
_HEADING: Final = re.compile(r"<h([234])>")
_LINK: Final = re.compile(r"<a\b[^>]*>(.*?)</a>", re.DOTALL)
TEXT_PROBLEMS: Final = frozenset({"image_without_alt", "heading_skipped", "link_text", "caption_missing"})
IMAGE_PROBLEMS: Final = frozenset({"not_shown", "cut", "location", "names", "pending"})
_EMPTY_WORDS: Final = frozenset({"", "click here", "here", "hier", "klick hier", "klicke hier", "link", "more", "this"})


class RehearsalConflict(msgspec.Struct, rename="camel"):
    """Two mods of the chain, of which the first names the second as a conflict."""

    guid: Annotated[str, about("A mod in `install`", "8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21")]
    conflicts_with: Annotated[
        str,
        about("The mod in `install` that it excludes", "7d5f2b1c-8a3e-4c9d-b6f0-1e2d3c4b5a69"),
    ]


class TextProblem(msgspec.Struct):
    """What makes a text hard to use.

    ``problem`` is ``image_without_alt``, ``heading_skipped``, ``link_text`` or ``caption_missing``.
    """

    field: Annotated[str, about("`description`, `changelog` or `images`", "description")]
    problem: Annotated[
        str,
        about("`image_without_alt`, `heading_skipped`, `link_text` or `caption_missing`", "link_text"),
    ]


class ImageProblem(msgspec.Struct, rename="camel"):
    """What the author of an image should know.

    ``problem`` is ``not_shown``, ``cut``, ``location``, ``names`` or ``pending``.
    """

    asset_id: Annotated[int, about("The number of the image in addresses", 58)]
    name: Annotated[str, about("Its name", "photo.jpg")]
    problem: Annotated[
        str,
        about(
            "`not_shown` (no browser shows it, so pages have it as a file), `cut` (only a part is shown), "
            "`location` (where it was taken), `names` (a person, a copyright notice or the serial number "
            "of a device) or `pending` (nobody has looked at it yet: it takes some seconds)",
            "location",
        ),
    ]


class RehearsedSuccessor(msgspec.Struct):
    """The mod that supersedes the rehearsed one; readers see it only if it is ``published``."""

    guid: Annotated[str, about("The mod", "01234567-89ab-cdef-0123-456789abcdef")]
    published: Annotated[bool, about("Whether it is published; else readers are told nothing", False)]


class RehearsalDocument(msgspec.Struct, rename="camel"):
    """``POST /api/modhub/{id}/rehearsal``"""

    ready: Annotated[
        bool,
        about("Whether it has code, and `missing`, `unpublished`, `conflicts` and `archive` are empty", False),
    ]
    install: Annotated[
        list[Annotated[msgspec.Raw, documented_as("ModDocument")]],
        about("Mods in the order of installing, your own drafts among them; the mod itself is last"),
    ]
    missing: Annotated[
        list[str],
        about("Required GUIDs that nobody could install", ["01234567-89ab-cdef-0123-456789abcdef"]),
    ]
    unpublished: Annotated[list[str], about("GUIDs of your own mods in `install` that nobody else sees yet", [])]
    conflicts: Annotated[list[RehearsalConflict], about("Pairs in `install` that exclude each other")]
    trimmed: Annotated[
        list[str],
        about("Fields that are as long as they may be, so their end may have been cut off", ["description"]),
    ]
    archive: Annotated[list[ArchiveProblem], about("Names in a zip file that unpackers refuse or misplace, at most 50")]
    games: Annotated[list[str], about("Games that are not in [the list](#list-games)", [])]
    texts: Annotated[list[TextProblem], about("What makes texts hard to use")]
    images: Annotated[
        list[ImageProblem],
        about(
            "Images that are not shown, or that tell more than they show. Files are stored as they are "
            "sent, so send a copy without this data if it should not be public",
        ),
    ]
    superseded_by: Annotated[RehearsedSuccessor | None, about("The mod that the owner says takes its place")]


def rehearse_chain(
    published: IPublicMods, rehearsed: Mod, own_mods: Iterable[Mod]
) -> tuple[list[msgspec.Raw], list[str], list[str], list[RehearsalConflict]]:
    """Return (documents in installation order, missing GUIDs, unpublished GUIDs of the caller, conflicts)."""
    unseen = [mod for mod in own_mods if not mod.published or mod.hidden_at is not None]
    own = {fold_guid(mod.guid): mod for mod in (*unseen, rehearsed)}
    requires: dict[str, list[str]] = {}
    conflicts: dict[str, list[str]] = {}
    root = fold_guid(rehearsed.guid)
    pending = {root}
    for _ in range(MAX_ROUNDS):
        pending = _add_own(pending, own, requires, conflicts)
        if not pending:
            break
        chains = published.get_chains(sorted(pending))
        for guid, mod in chains.items():
            if guid not in requires:
                requires[guid], conflicts[guid] = mod.requires, mod.conflicts
        named = {fold_guid(guid) for mod in chains.values() for guid in mod.requires}
        pending = {guid for guid in named if guid in own and guid not in requires}
    order, missing = published.order([root], requires)
    documents = published.get_documents([guid for guid in order if guid not in own])
    install = [
        msgspec.Raw(documents[guid] if guid in documents else msgspec.json.encode(mod_document(own[guid])))
        for guid in order
        if guid in documents or guid in own
    ]
    unpublished = [own[guid].guid for guid in order if guid in own and guid != root]
    members = set(order)
    pairs = [
        RehearsalConflict(guid, fold_guid(rival))
        for guid in order
        for rival in conflicts.get(guid, ())
        if fold_guid(rival) in members
    ]
    return install, missing, unpublished, pairs


def _add_own(
    guids: set[str], own: Mapping[str, Mod], requires: dict[str, list[str]], conflicts: dict[str, list[str]]
) -> set[str]:
    """Add the caller's mods among ``guids`` and what they lead to; returns the GUIDs that are not the caller's."""
    others: set[str] = set()
    stack = list(guids)
    while stack:
        guid = stack.pop()
        mod = own.get(guid)
        if mod is None:
            others.add(guid)
        elif guid not in requires:
            requires[guid], conflicts[guid] = mod.requires, mod.conflicts
            stack.extend(map(fold_guid, mod.requires))
    return others - requires.keys()


class DraftProblem(NamedTuple):
    """Something that its owner should know of a mod: what it is about, and what is wrong or could be better.

    ``about`` is a field of the mod's JSON, or ``code``, ``images`` or ``changelog``. ``name`` is the GUID, game, title,
    version or file that is meant, if one is; ``asset_id`` that of an image.
    """

    about: str
    problem: str
    name: str = ""
    asset_id: int = 0

    @property
    def is_blocking(self) -> bool:
        """Whether the mod cannot be published before it is solved."""
        return self.about == "code"


def check_draft(
    mod: Mod,
    notes: Sequence[NoteDocument] = (),
    pictures: Mapping[int, PictureSet] = MappingProxyType({}),
    titles: Mapping[str, str] = MappingProxyType({}),
    games: Container[str] = (),
) -> Iterator[DraftProblem]:
    """Yield what is wrong with a mod: for its page in the workshop, for a rehearsal, and for publishing.

    ``notes`` is its changelog, newest first, ``titles`` are those of published mods that it names, by folded GUID, and
    ``games`` the folded names of the curated games. Publishing needs none of these: they prevent nothing.
    """
    if not mod.description:
        yield DraftProblem("description", "missing")
    yield from (DraftProblem(field, "trimmed") for field in _trimmed(mod))
    yield from (DraftProblem("requires", "missing", guid) for guid in mod.requires if fold_guid(guid) not in titles)
    yield from (DraftProblem("games", "unlisted", game) for game in mod.games if fold_game(game) not in games)
    rivals = (titles.get(fold_guid(guid)) for guid in mod.conflicts)
    yield from (DraftProblem("conflictsWith", "published", rival) for rival in rivals if rival is not None)
    if not any(asset.kind == AssetKind.CODE for asset in mod.assets):
        yield DraftProblem("code", "missing")
    yield from (DraftProblem("description", problem) for problem in _html_problems(mod.description))
    of_notes = dict.fromkeys(problem for note in notes for problem in _html_problems(note.text))
    yield from (DraftProblem("changelog", problem) for problem in of_notes)
    yield from (DraftProblem("changelog", "missing", note.title or mod.version) for note in notes[:1] if not note.text)
    yield from _image_problems(mod, pictures)


def _image_problems(mod: Mod, pictures: Mapping[int, PictureSet]) -> Iterator[DraftProblem]:
    """Yield what was found in its images, in their order."""
    shown = 0
    for image in images_of(mod):
        verdict = pictures.get(image.id)
        problem = None if verdict is None else verdict.problem
        is_image = is_shown(image.content_type, problem, has_pictures=verdict is not None and problem is None)
        told = ((verdict and verdict.told) or "").split()
        found = {
            "pending": verdict is None,
            "not_shown": verdict is not None and not is_image,
            "cut": problem == "cut",
            **dict.fromkeys(told, True),
            "caption_missing": is_image and not image.caption,
        }
        yield from (DraftProblem("images", kind, image.name, image.id) for kind, is_found in found.items() if is_found)
        shown += is_image
    if not shown:
        yield DraftProblem("images", "missing")


def _html_problems(cleaned: str) -> list[str]:
    # Of Markdown "##" becomes an h3: a text that begins with it has skipped nothing.
    levels = [2, *(int(level) for level in _HEADING.findall(cleaned))]
    problems = {
        "image_without_alt": any(not _ALT.search(image) for image in _IMAGE.findall(cleaned)),
        "heading_skipped": any(after > before + 1 for before, after in pairwise(levels)),
        "link_text": any(to_text(link, limits.TITLE).casefold() in _EMPTY_WORDS for link in _LINK.findall(cleaned)),
    }
    return [problem for problem, is_found in problems.items() if is_found]


def _trimmed(mod: Mod) -> Iterator[str]:
    """Yield the fields that are exactly as long as they may be: most likely their end was cut off."""
    if len(mod.title) >= limits.TITLE:
        yield "title"
    if len(mod.description) >= limits.DESCRIPTION:
        yield "description"
    if len(mod.games) >= limits.GAMES or any(len(game) >= limits.GAME for game in mod.games):
        yield "games"
