"""What the API views declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Final

from modhub.base.operations import RANGED_FILE, FileBody, Operation, Parameter, Refusal
from modhub.catalogue.rehearsal import RehearsalDocument
from modhub.catalogue.request_schemas import (
    CaptionsChange,
    ModChange,
    NewMod,
    NoteChange,
    OrderChange,
    SuccessorChange,
    TextPreview,
    VoteChange,
)
from modhub.catalogue.response_schemas import (
    CaptionsDocument,
    FilesDocument,
    GamesDocument,
    MineDocument,
    ModDocument,
    ModListDocument,
    NoteDocument,
    NotesDocument,
    PreviewDocument,
    SingleModDocument,
    VotesDocument,
)
from modhub.catalogue.successors import SupersededDocument
from modhub.content import limits

NO_MOD: Final = Refusal(404, "not_found", "No such mod, or it is a draft or hidden.")
KEY_USED: Final = Refusal(409, "idempotency_key_used", "The key was sent with other content.")
IDEMPOTENCY_KEY: Final = Parameter(
    "Idempotency-Key", "1 to 255 printable ASCII characters: the same call again within a day creates nothing."
)
UPLOAD_NAME: Final = Parameter("name", "The name to save the file under; only its last path part counts.")
LISTED_BY: Final = (
    Parameter("q", f"Each word must occur in the title or in a game's name. Cut at {limits.QUERY} characters."),
    Parameter("game", "One game by its whole name."),
    Parameter("sort", "new: most recently changed first. top: votes for minus votes against.", str, "new"),
    Parameter("page", "Counted from 1.", int, 1),
    Parameter("size", f"Mods on a page, at most {limits.PAGE_SIZE_MOST}.", int, limits.PAGE_SIZE),
)


LIST_OWN_FILES: Final = Operation(
    id="list_own_files",
    about="The files of the owner's mod with their digests, of a draft too.",
    returns=FilesDocument,
    clauses=("C-OWN-40",),
)
PREVIEW_TEXT: Final = Operation(
    id="preview_text",
    about="What becomes of a text, as it would be stored. Changes nothing.",
    takes=TextPreview,
    returns=PreviewDocument,
    clauses=("C-OWN-41",),
)
CHANGE_CAPTIONS: Final = Operation(
    id="change_captions",
    about="Change the captions of the images that are listed.",
    takes=CaptionsChange,
    returns=CaptionsDocument,
    clauses=("C-PIC-20",),
)
ORDER_IMAGES: Final = Operation(
    id="order_images",
    about="Put the images in another order. Each one is listed once.",
    takes=OrderChange,
    returns=ModDocument,
    clauses=("C-PIC-21",),
)
CHANGE_SUCCESSOR: Final = Operation(
    id="change_successor",
    about="Name the mod that supersedes this one, by its GUID or address. null clears it.",
    takes=SuccessorChange,
    returns=SupersededDocument,
    clauses=("C-OWN-18", "C-OWN-33"),
)
LIST_OWN_ENTRIES: Final = Operation(
    id="list_own_entries",
    about="The changelog for the owner, of a draft too.",
    returns=NotesDocument,
    clauses=("C-NOTE-20",),
)
VOTE: Final = Operation(
    id="vote",
    about="Vote for a mod, against it, or withdraw the vote.",
    takes=VoteChange,
    returns=VotesDocument,
    refusals=(Refusal(403, "own_mod", "The mod is the caller's own."), NO_MOD),
    clauses=("C-VOTE-1", "C-VOTE-3"),
)
CREATE_MOD: Final = Operation(
    id="create_mod",
    about="Create a draft.",
    takes=NewMod,
    returns=ModDocument,
    status=201,
    headers=(IDEMPOTENCY_KEY,),
    refusals=(KEY_USED,),
    clauses=("C-OWN-1", "C-OWN-6", "C-OWN-31"),
)
LIST_OWN_MODS: Final = Operation(
    id="list_own_mods",
    about="All mods of the caller, drafts included, most recently changed first.",
    returns=MineDocument,
    clauses=("C-OWN-10",),
)
EDIT_MOD: Final = Operation(
    id="edit_mod",
    about="Change the fields that are sent.",
    takes=ModChange,
    returns=ModDocument,
    headers=(Parameter("If-Match", "The mod's updatedAt in quotes: 412 if it has changed since."),),
    refusals=(Refusal(412, "changed", "The mod has another updatedAt."),),
    clauses=("C-OWN-2", "C-OWN-3", "C-OWN-5", "C-OWN-7", "C-OWN-30"),
)
PUBLISH_MOD: Final = Operation(
    id="publish_mod",
    about="Publish a mod. There is no way back. A published one stays as it is.",
    returns=ModDocument,
    refusals=(Refusal(409, "no_code", "No code file has been uploaded."),),
    clauses=("C-OWN-8", "C-OWN-9"),
)
DELETE_MOD: Final = Operation(
    id="delete_mod",
    about="Delete a mod with its changelog, votes and files, permanently.",
    status=204,
    clauses=("C-OWN-11",),
)
UPLOAD_CODE: Final = Operation(
    id="upload_code",
    about="Upload the code file of a new version.",
    takes=FileBody("The file itself."),
    returns=ModDocument,
    status=201,
    parameters=(Parameter("version", "The label of the version.", required=True), UPLOAD_NAME),
    refusals=(
        Refusal(409, "version_used", "The mod has used this version. The answer names bytes and sha256 of its file."),
    ),
    clauses=("C-UP-1", "C-UP-3", "C-UP-4", "C-UP-5", "C-UP-11"),
)
UPLOAD_CSS: Final = Operation(
    id="upload_css",
    about="Upload the style sheet. A second one replaces the first.",
    takes=FileBody("The file itself."),
    returns=ModDocument,
    status=201,
    parameters=(UPLOAD_NAME,),
    clauses=("C-UP-1", "C-UP-6", "C-UP-11"),
)
UPLOAD_IMAGE: Final = Operation(
    id="upload_image",
    about="Add an image.",
    takes=FileBody("The file itself."),
    returns=ModDocument,
    status=201,
    parameters=(UPLOAD_NAME,),
    headers=(IDEMPOTENCY_KEY,),
    refusals=(KEY_USED,),
    clauses=("C-UP-1", "C-UP-6", "C-UP-11", "C-OWN-31"),
)
DELETE_IMAGE: Final = Operation(id="delete_image", about="Remove an image.", status=204, clauses=("C-UP-14",))
EDIT_ENTRY: Final = Operation(
    id="edit_entry",
    about="Change the title or the text of a changelog entry.",
    takes=NoteChange,
    returns=NoteDocument,
    clauses=("C-NOTE-3", "C-NOTE-5"),
)
DELETE_ENTRY: Final = Operation(
    id="delete_entry",
    about="Remove a changelog entry. Its version can be uploaded again.",
    status=204,
    clauses=("C-NOTE-4", "C-NOTE-5"),
)
TEST_MACHINE_KEY: Final = Operation(
    id="test_machine_key",
    about="Succeeds with any valid machine key, and changes nothing.",
    returns=dict[str, bool],
    clauses=("C-KEY-1",),
)
LIST_MODS: Final = Operation(
    id="list_mods",
    about="Published mods, a page at a time. No parameter is refused, and the answer names the values that were used.",
    returns=ModListDocument,
    parameters=LISTED_BY,
    clauses=("C-LIST-1", "C-LIST-2", "C-LIST-3", "C-LIST-4", "C-LIST-7", "C-LIST-8"),
)
READ_MOD: Final = Operation(
    id="read_mod",
    about="A published mod with all that must be installed for it. A Link header names its files with their digests.",
    returns=SingleModDocument,
    refusals=(NO_MOD,),
    clauses=("C-READ-1", "C-READ-2", "C-READ-3", "C-READ-6", "C-READ-11"),
)
READ_CHANGELOG: Final = Operation(
    id="read_changelog",
    about="The changelog of a published mod, newest first.",
    returns=NotesDocument,
    refusals=(NO_MOD,),
    clauses=("C-READ-8", "C-NOTE-1"),
)
READ_CAPTIONS: Final = Operation(
    id="read_captions",
    about="The images of a published mod with their captions.",
    returns=CaptionsDocument,
    refusals=(NO_MOD,),
    clauses=("C-PIC-20",),
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
    clauses=("C-READ-9", "C-FILE-2"),
)
READ_FILE: Final = Operation(
    id="read_file",
    about="A file of a published mod.",
    returns=RANGED_FILE,
    refusals=(Refusal(404, "not_found", "No such file, or its mod is a draft or hidden."),),
    clauses=("C-FILE-1", "C-FILE-2"),
)
READ_VOTES: Final = Operation(
    id="read_votes",
    about="The votes on a published mod. With a token, also the caller's own.",
    returns=VotesDocument,
    signed_in_too=True,
    refusals=(NO_MOD,),
    clauses=("C-VOTE-2",),
)
REHEARSE_MOD: Final = Operation(
    id="rehearse_mod",
    about="What publishing would show, and what is still missing. Changes nothing.",
    returns=RehearsalDocument,
    clauses=("C-OWN-17",),
)
