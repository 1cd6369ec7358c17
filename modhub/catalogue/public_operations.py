"""What the API views for readers declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Final

from modhub.base.operations import FILE_LINKS, RANGED_FILE, Lead, Operation, Parameter, Refusal
from modhub.catalogue.response_schemas import (
    CaptionsDocument,
    GamesDocument,
    ModListDocument,
    NotesDocument,
    SingleModDocument,
    VotesDocument,
)
from modhub.catalogue.successors import SupersededDocument
from modhub.content import limits

NO_MOD: Final = Refusal(404, "not_found", "No such mod, or it is a draft or hidden.")
LISTED_BY: Final = (
    Parameter(
        "q",
        "Each word must occur in the title or in a game's name; parts of words count; capitals and accents do not "
        f"matter. Cut at {limits.QUERY} characters.",
        example="hud",
    ),
    Parameter("game", "One game by its whole name; capitals and outer spaces do not matter.", example="Portal 2"),
    Parameter("sort", "`new`: most recently changed first. `top`: votes for minus votes against.", str, "new"),
    Parameter("page", "Counted from 1.", int, 1),
    Parameter("size", f"Mods on a page, at most {limits.PAGE_SIZE_MOST}.", int, limits.PAGE_SIZE),
)


LIST_MODS: Final = Operation(
    id="list_mods",
    about="Published mods, a page at a time. No parameter is refused, and the answer names the values that were used.",
    returns=ModListDocument,
    parameters=LISTED_BY,
    leads_to=(Lead("read_mod", {"id": "$response.body#/mods/0/id"}),),
    clauses=(
        "C-LIST-1",
        "C-LIST-2",
        "C-LIST-3",
        "C-LIST-4",
        "C-LIST-5",
        "C-LIST-6",
        "C-LIST-7",
        "C-LIST-8",
        "C-LIST-9",
    ),
)
READ_MOD: Final = Operation(
    id="read_mod",
    about="A published mod with all that must be installed for it. A `Link` header names its files with their digests.",
    returns=SingleModDocument,
    refusals=(NO_MOD,),
    sends=(FILE_LINKS,),
    leads_to=tuple(
        Lead(name, {"id": "$response.body#/id"})
        for name in ("download_mod", "read_changelog", "read_captions", "read_successor", "read_votes")
    ),
    clauses=(
        "C-READ-1",
        "C-READ-2",
        "C-READ-3",
        "C-READ-4",
        "C-READ-5",
        "C-READ-6",
        "C-READ-11",
        "C-MOD-1",
        "C-MOD-12",
    ),
)
READ_CHANGELOG: Final = Operation(
    id="read_changelog",
    about="The changelog of a published mod, newest first.",
    returns=NotesDocument,
    refusals=(NO_MOD,),
    clauses=("C-READ-8", "C-NOTE-1", "C-NOTE-2"),
)
READ_CAPTIONS: Final = Operation(
    id="read_captions",
    about="The images of a published mod in their owner's order, with their captions.",
    returns=CaptionsDocument,
    refusals=(NO_MOD,),
    clauses=("C-PIC-9",),
)
READ_SUCCESSOR: Final = Operation(
    id="read_successor",
    about="The published mod that supersedes this one, or null.",
    returns=SupersededDocument,
    refusals=(NO_MOD,),
    clauses=("C-OWN-19",),
)
LIST_GAMES: Final = Operation(
    id="list_games",
    about="The games that the operator keeps, with their icons.",
    returns=GamesDocument,
    clauses=("C-READ-10",),
)
DOWNLOAD_MOD: Final = Operation(
    id="download_mod",
    about="The code file of a published mod.",
    returns=RANGED_FILE,
    refusals=(Refusal(404, "not_found", "No such mod, it is a draft or hidden, or it has no code."),),
    clauses=("C-READ-9", "C-FILE-1", "C-FILE-2", "C-FILE-5", "C-FILE-6", "C-FILE-8", "C-FILE-9"),
)
READ_FILE: Final = Operation(
    id="read_file",
    about="A file of a published mod: the `url` of an asset.",
    returns=RANGED_FILE,
    refusals=(Refusal(404, "not_found", "No such file, or its mod is a draft or hidden."),),
    clauses=("C-FILE-1", "C-FILE-2", "C-FILE-4", "C-FILE-5", "C-FILE-6", "C-FILE-7", "C-FILE-8", "C-FILE-9"),
)
READ_VOTES: Final = Operation(
    id="read_votes",
    about="The votes on a published mod. With a token, also the caller's own.",
    returns=VotesDocument,
    signed_in_too=True,
    refusals=(NO_MOD,),
    clauses=("C-VOTE-2",),
)
