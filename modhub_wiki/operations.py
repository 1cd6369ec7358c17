"""What the API views declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Final

from modhub.base.operations import FileBody, Operation, Parameter, Refusal
from modhub_wiki.response_schemas import PageDocument, PagesDocument

MARKDOWN: Final = FileBody("Markdown in UTF-8.", "text/markdown")
BAD_PATH: Final = Refusal(400, "invalid_input", "The path is not one of a page.")
NO_PAGE: Final = Refusal(404, "not_found", "There is no such page.")


PUBLISH_WIKI_PAGE: Final = Operation(
    id="publish_wiki_page",
    about="Publish a page of the developer wiki.",
    takes=FileBody("Markdown in UTF-8.", "text/markdown"),
    returns=PageDocument,
    also=(201,),
    parameters=(Parameter("title", "The title. Without one it is taken from the text."),),
    clauses=("C-WIKI-2",),
)
REMOVE_WIKI_PAGE: Final = Operation(
    id="remove_wiki_page",
    about="Remove a page of the developer wiki.",
    status=204,
    refusals=(BAD_PATH, NO_PAGE),
    clauses=("C-WIKI-2",),
)
LIST_WIKI_PAGES: Final = Operation(
    id="list_wiki_pages", about="The pages of the developer wiki.", returns=PagesDocument, clauses=("C-WIKI-2",)
)
READ_WIKI_PAGE: Final = Operation(
    id="read_wiki_page", about="The Markdown of a page.", returns=MARKDOWN, refusals=(NO_PAGE,), clauses=("C-WIKI-2",)
)
READ_WIKI_CONTRACT: Final = Operation(
    id="read_wiki_contract", about="How pages of the wiki are written.", returns=MARKDOWN, clauses=("C-WIKI-10",)
)
