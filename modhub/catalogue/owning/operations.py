"""What the API views for owners and keys declare about themselves (:mod:`modhub.base.operations`)."""

from dataclasses import replace
from typing import Final

from modhub.base.operations import FileBody, Lead, Operation, Parameter, Refusal, body_over
from modhub.catalogue.bodies import (
    CaptionsChange,
    ModChange,
    NewMod,
    NoteChange,
    OrderChange,
    SuccessorChange,
    TextPreview,
    VoteChange,
)
from modhub.catalogue.documents import (
    CaptionsDocument,
    FilesDocument,
    KeyDocument,
    MineDocument,
    ModDocument,
    NoteDocument,
    NotesDocument,
    PreviewDocument,
    QuotaDocument,
    VersionUsedDocument,
    VotesDocument,
)
from modhub.catalogue.owning.rehearsal import RehearsalDocument
from modhub.catalogue.owning.successors import SupersededDocument
from modhub.catalogue.reading.views import NO_MOD
from modhub.content import limits
from modhub.content.limits import MB

KEY_USED: Final = Refusal(409, "idempotency_key_used", "The key was sent with another query or body.")
KEY_IN_USE: Final = Refusal(503, "busy", "The first call with this `Idempotency-Key` has not ended.")
IDEMPOTENCY_KEY: Final = Parameter(
    "Idempotency-Key", "1 to 255 printable ASCII characters: the same call again within a day creates nothing."
)
WRONG_TYPE: Final = Refusal(400, "invalid_input", "A field of the wrong type.")
UPLOADED_FILE: Final = FileBody("The file itself.")
NO_FILE: Final = Refusal(400, "invalid_input", "An empty body, a multipart form, or a `Content-Encoding`.")
NO_FURTHER_MOD: Final = Refusal(
    403, "quota", "Where the operator has set quotas: the account has as many mods as it may have.", QuotaDocument
)
NO_MOD_TODAY: Final = Refusal(
    429, "quota", "Where the operator has set quotas: the account is new, and has made as many mods in a day as it may."
)
NO_FURTHER_UPLOAD: Final = Refusal(
    429, "quota", "Where the operator has set quotas: the account has uploaded as many files in an hour as it may."
)
FOUND_BY_SCAN: Final = Refusal(
    400, "rejected_by_scan", "Where the operator has a scanner: it found something in the file."
)
OF_THE_MOD: Final = tuple(
    Lead(name, {"id": "$response.body#/id"})
    for name in (
        "edit_mod",
        "upload_code",
        "upload_image",
        "rehearse_mod",
        "publish_mod",
        "delete_mod",
    )
)


def upload_name(fallback: str) -> Parameter:
    """The parameter ``name`` of an upload."""
    about = f"The name to save it under: the last part of a path, at most {limits.FILE_NAME} characters; `{fallback}` "
    return Parameter("name", about + "when not sent.")


def upload_over(limit: int) -> Refusal:
    """413 for a file that is too large, or for which the account has no room."""
    over = body_over(limit)
    more = "; where the operator has set quotas, also a file for which the account has no room."
    return replace(over, about=over.about.removesuffix(".") + more)


VOTE: Final = Operation(
    id="vote",
    about="Vote for a mod, against it, or withdraw the vote.",
    takes=VoteChange,
    returns=VotesDocument,
    refusals=(
        Refusal(400, "invalid_input", "`value` is something else."),
        Refusal(403, "own_mod", "The mod is the caller's own."),
        NO_MOD,
    ),
    clauses=("C-VOTE-1", "C-VOTE-3"),
)
CREATE_MOD: Final = Operation(
    id="create_mod",
    about="Create a draft.",
    takes=NewMod,
    returns=ModDocument,
    status=201,
    headers=(IDEMPOTENCY_KEY,),
    refusals=(
        Refusal(
            400,
            "invalid_input",
            "No title, a field of the wrong type, an item that is not a GUID, a GUID in both lists, more than "
            f"{limits.GUIDS} in a list, a malformed `Idempotency-Key`.",
        ),
        Refusal(401, "unauthorized", "No valid token; or the mod that this key has made was deleted."),
        NO_FURTHER_MOD,
        NO_MOD_TODAY,
        KEY_USED,
        KEY_IN_USE,
    ),
    leads_to=OF_THE_MOD,
    clauses=(
        "C-OWN-1",
        "C-OWN-4",
        "C-OWN-6",
        "C-OWN-31",
        "C-OWN-32",
        "C-MOD-2",
        "C-MOD-3",
        "C-MOD-4",
        "C-MOD-6",
        "C-MOD-8",
        "C-MOD-9",
        "C-MOD-10",
        "C-MOD-14",
    ),
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
    headers=(Parameter("If-Match", "The mod's `updatedAt` in quotes: 412 if it has changed since. `*` always fits."),),
    refusals=(
        Refusal(400, "invalid_input", "As for a new mod, an empty title, or the mod's own GUID in a list."),
        Refusal(412, "changed", "The mod has another `updatedAt` than `If-Match` says: read it again."),
    ),
    clauses=("C-OWN-2", "C-OWN-3", "C-OWN-4", "C-OWN-5", "C-OWN-7", "C-OWN-30", "C-MOD-13"),
)
PUBLISH_MOD: Final = Operation(
    id="publish_mod",
    about="Publish a mod. There is no way back. A published one stays as it is.",
    returns=ModDocument,
    refusals=(
        Refusal(409, "no_code", "No code file has been uploaded."),
        Refusal(409, "not_scanned", "Where the operator has a scanner: a file still waits for it."),
        Refusal(409, "rejected_by_scan", "Where the operator has a scanner: it found something in a file that waited."),
    ),
    leads_to=tuple(Lead(name, {"id": "$response.body#/id"}) for name in ("read_mod", "download_mod", "vote")),
    clauses=("C-OWN-8", "C-OWN-9", "C-OWN-15"),
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
    takes=UPLOADED_FILE,
    returns=ModDocument,
    status=201,
    parameters=(
        Parameter(
            "version",
            f"Any label, cut at {limits.VERSION} characters, that this mod has not used yet. A version is free again "
            "when its changelog entry is deleted.",
            required=True,
            example="1.4",
        ),
        upload_name("mod.bin"),
    ),
    refusals=(
        Refusal(
            400,
            "invalid_input",
            "No `version`, an empty body, `{}` or `[object …]`, a multipart form, or a `Content-Encoding`.",
        ),
        FOUND_BY_SCAN,
        Refusal(
            409,
            "version_used",
            "The version has been used. The answer says what is stored under it.",
            VersionUsedDocument,
        ),
        upload_over(limits.CODE),
        NO_FURTHER_UPLOAD,
    ),
    leads_to=(
        *OF_THE_MOD[-2:],
        Lead("list_own_entries", {"id": "$response.body#/id"}),
    ),
    clauses=(
        "C-UP-1",
        "C-UP-2",
        "C-UP-3",
        "C-UP-4",
        "C-UP-5",
        "C-UP-6",
        "C-UP-7",
        "C-UP-8",
        "C-UP-9",
        "C-UP-10",
        "C-UP-11",
        "C-UP-12",
        "C-UP-13",
    ),
)
UPLOAD_CSS: Final = Operation(
    id="upload_css",
    about="Upload the style sheet. A second one replaces the first.",
    takes=UPLOADED_FILE,
    returns=ModDocument,
    status=201,
    parameters=(upload_name("mod.css"),),
    refusals=(NO_FILE, FOUND_BY_SCAN, upload_over(limits.CSS), NO_FURTHER_UPLOAD),
    clauses=("C-UP-1", "C-UP-2", "C-UP-6", "C-UP-7", "C-UP-9", "C-UP-10", "C-UP-11", "C-UP-12", "C-UP-15"),
)
UPLOAD_IMAGE: Final = Operation(
    id="upload_image",
    about="Add an image. Its `Content-Type` is stored: sent as `application/octet-stream`, it is not shown inline.",
    takes=UPLOADED_FILE,
    returns=ModDocument,
    status=201,
    parameters=(upload_name("image"),),
    headers=(IDEMPOTENCY_KEY,),
    refusals=(
        Refusal(
            400,
            "invalid_input",
            "An empty body, a multipart form, a `Content-Encoding`, or a malformed `Idempotency-Key`.",
        ),
        FOUND_BY_SCAN,
        KEY_USED,
        Refusal(
            413,
            "too_large",
            f"More than {limits.IMAGE // MB} MB, or more than {limits.IMAGES // MB} MB with the images that are there, "
            "or, where the operator has set quotas, more than the files of the account may take up; "
            "`limitBytes` says which.",
            limit=limits.IMAGES,
        ),
        NO_FURTHER_UPLOAD,
        KEY_IN_USE,
    ),
    clauses=(
        "C-UP-1",
        "C-UP-2",
        "C-UP-6",
        "C-UP-7",
        "C-UP-9",
        "C-UP-10",
        "C-UP-11",
        "C-UP-12",
        "C-OWN-31",
        "C-OWN-32",
    ),
)
DELETE_IMAGE: Final = Operation(id="delete_image", about="Remove an image.", status=204, clauses=("C-UP-14",))
EDIT_ENTRY: Final = Operation(
    id="edit_entry",
    about="Change the title or the text of a changelog entry.",
    takes=NoteChange,
    returns=NoteDocument,
    refusals=(WRONG_TYPE,),
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
    returns=KeyDocument,
    clauses=("C-KEY-1", "C-KEY-2", "C-KEY-3"),
)
REHEARSE_MOD: Final = Operation(
    id="rehearse_mod",
    about="What publishing would show, and what is still missing. Changes nothing.",
    returns=RehearsalDocument,
    schemas=(ModDocument,),
    clauses=("C-OWN-17", "C-PIC-22"),
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
    refusals=(Refusal(400, "invalid_input", "No `text`, or a field of the wrong type."),),
    clauses=("C-OWN-41", "C-TXT-8", "C-TXT-9", "C-TXT-10", "C-TXT-11", "C-TXT-12"),
)
CHANGE_CAPTIONS: Final = Operation(
    id="change_captions",
    about="Change the captions of the images that are listed.",
    takes=CaptionsChange,
    returns=CaptionsDocument,
    refusals=(Refusal(400, "invalid_input", "No list, an image listed twice, or not one of this mod."),),
    leads_to=(Lead("delete_image", {"id": "$request.path.id", "assetId": "$response.body#/captions/0/assetId"}),),
    clauses=("C-PIC-20",),
)
ORDER_IMAGES: Final = Operation(
    id="order_images",
    about="Put the images in another order. Each one is listed once.",
    takes=OrderChange,
    returns=ModDocument,
    refusals=(Refusal(400, "invalid_input", "Not each image of the mod once."),),
    clauses=("C-PIC-21",),
)
CHANGE_SUCCESSOR: Final = Operation(
    id="change_successor",
    about="Name the mod that supersedes this one, by its GUID or address. null clears it.",
    takes=SuccessorChange,
    returns=SupersededDocument,
    refusals=(
        Refusal(
            400,
            "invalid_input",
            "Neither a GUID nor the address of a mod that is published or yours, or the mod itself.",
        ),
    ),
    clauses=("C-OWN-18", "C-OWN-33"),
)
LIST_OWN_ENTRIES: Final = Operation(
    id="list_own_entries",
    about="The changelog for the owner, of a draft too.",
    returns=NotesDocument,
    leads_to=tuple(
        Lead(name, {"id": "$request.path.id", "noteId": "$response.body#/notes/0/id"})
        for name in ("edit_entry", "delete_entry")
    ),
    clauses=("C-NOTE-20", "C-NOTE-1"),
)
