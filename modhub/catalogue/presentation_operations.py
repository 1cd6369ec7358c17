"""What the API views for how an owner presents a mod declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Final

from modhub.base.operations import Lead, Operation, Refusal
from modhub.catalogue.owner_response_schemas import FilesDocument, PreviewDocument
from modhub.catalogue.request_schemas import CaptionsChange, OrderChange, SuccessorChange, TextPreview
from modhub.catalogue.response_schemas import CaptionsDocument, ModDocument, NotesDocument
from modhub.catalogue.successors import SupersededDocument

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
