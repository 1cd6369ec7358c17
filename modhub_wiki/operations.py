"""What the API views declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Final

from modhub.base.operations import FileBody, Lead, Operation, Parameter, Refusal, body_over
from modhub.content import limits as core_limits
from modhub_wiki import limits
from modhub_wiki.response_schemas import PageDocument, PagesDocument

MARKDOWN: Final = FileBody("Markdown in UTF-8.", "text/markdown")
BAD_PATH: Final = Refusal(400, "invalid_input", "A bad path.")
NO_PAGE: Final = Refusal(404, "not_found", "No such page.")


PUBLISH_WIKI_PAGE: Final = Operation(
    id="publish_wiki_page",
    about="Publish a page of the developer wiki.",
    takes=MARKDOWN,
    returns=PageDocument,
    also=(201,),
    parameters=(
        Parameter(
            "title",
            f"Cut at {core_limits.TITLE} characters; not sent: the first heading, else the last word of the path.",
        ),
    ),
    refusals=(
        Refusal(400, "invalid_input", "A bad path, an empty body, a multipart form, or not UTF-8."),
        body_over(limits.TEXT),
    ),
    leads_to=(Lead("read_wiki_page", {"path": "$response.body#/path"}),),
    clauses=("C-WIKI-1", "C-WIKI-2", "C-WIKI-3", "C-WIKI-4", "C-WIKI-7", "C-KEY-2", "C-KEY-4"),
)
REMOVE_WIKI_PAGE: Final = Operation(
    id="remove_wiki_page",
    about="Remove a page of the developer wiki.",
    status=204,
    refusals=(BAD_PATH, NO_PAGE),
    clauses=("C-WIKI-5", "C-KEY-2", "C-KEY-4"),
)
LIST_WIKI_PAGES: Final = Operation(
    id="list_wiki_pages", about="The pages of the developer wiki.", returns=PagesDocument, clauses=("C-WIKI-6",)
)
READ_WIKI_PAGE: Final = Operation(
    id="read_wiki_page", about="The Markdown of a page.", returns=MARKDOWN, refusals=(NO_PAGE,), clauses=("C-WIKI-6",)
)
READ_WIKI_CONTRACT: Final = Operation(
    id="read_wiki_contract", about="How pages of the wiki are written.", returns=MARKDOWN, clauses=("C-WIKI-10",)
)
