"""``POST /api/modhub/{id}/preview``: what is stored of a text as it was written, for programs that send it then."""

from typing import Final

from modhub.catalogue import presentation_operations
from modhub.catalogue.owner_response_schemas import PreviewDocument, RemovedDocument
from modhub.catalogue.pages.presenters.removed_markup import find_removed_markup
from modhub.catalogue.pages.presenters.truncation import is_html_truncated
from modhub.catalogue.request_schemas import TextPreview
from modhub.catalogue.resources import ModPermission, ModResource
from modhub.catalogue.written_texts import write_text
from modhub.content import limits
from modhub.content.markup import clean
from modhub.plugins.resources import IMod
from modhub.web.payload import read_json
from modhub.web.request import Request
from modhub.web.views import api

_LIMITS: Final = {"description": limits.DESCRIPTION, "changelog": limits.NOTE}


@api(
    context=IMod,
    name="preview",
    request_method="POST",
    permission=ModPermission.EDIT,
    operation=presentation_operations.PREVIEW_TEXT,
)
def preview_view(_context: ModResource, request: Request) -> PreviewDocument:
    """``POST /api/modhub/{id}/preview``: changes nothing."""
    sent = read_json(request, TextPreview)
    limit = _LIMITS[sent.field or "description"]
    written = write_text(sent.text, sent.format or "", limit)
    submitted = written.uncleaned
    cleaned = clean(submitted, limit)
    is_trimmed = written.is_cut or is_html_truncated(submitted, cleaned, limit)
    return PreviewDocument(cleaned, is_trimmed, RemovedDocument(*find_removed_markup(submitted, cleaned)))
