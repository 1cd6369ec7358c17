"""``/Modhub/account/data``: asking for one's own data, and downloading them."""

from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render

from modhub.base.errors import not_found, storage_not_configured
from modhub.base.service_registry import find_optional_service
from modhub.blobs import BlobStore
from modhub.content.text import N_
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.downloads import StoredFile, file_response
from modhub.web.request import Request
from modhub.web.views import page
from modhub_auth.pages.form_pages import FormPage, never_stored
from modhub_auth.pages.fresh_proof import current_login, proven_account
from modhub_auth.resources import AccountPermission, IAccount
from modhub_moderation.personal_data import services

DATA_ADDRESS: Final = "/Modhub/account/data"
DATA_TEMPLATES: Final = "modhub_moderation:templates/personal_data/"


def data_form(_context: Any, request: Request) -> FormPage:
    """The form to ask, with what has become of the last archive."""
    with request.databases.readonly_session() as session:
        archive = services.find_archive(session, current_login(request).account_id)
    return FormPage(
        N_("Download your data"),
        N_("Put my data together"),
        [],
        lead=[
            N_(
                "You get a zip archive of everything that is stored about your account: your details, sign-ins, mods "
                "with their files, votes and what you follow. What others wrote is not in it."
            ),
            N_("It takes a few minutes. You then find it on this page; a confirmed email address gets an email too."),
        ],
        links=[("/Modhub/account", N_("Your account"))],
        template_values={"archive": archive, "kept": services.ARCHIVE_KEPT, "done": request.GET.get("done", "")},
    )


@page(
    context=IAccount,
    name="data",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=f"{DATA_TEMPLATES}data.jinja2",
    fresh_proof=data_form,
)
def data_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/data``: have the archive made."""
    account, _ = proven_account(request)
    if find_optional_service(request.registry, BlobStore) is None:
        raise storage_not_configured()
    services.ask_for_archive(request.dbsession, account.id, translations_for(request).language)
    return never_stored(Redirect(f"{DATA_ADDRESS}?done=asked"))


@page(context=IAccount, name="data.zip", request_method="GET", permission=AccountPermission.READ)
def download_page(_context: Any, request: Request) -> Any:
    """``GET /Modhub/account/data.zip``: the archive of whose session it is; 404 without one."""
    account_id = current_login(request).account_id
    with request.databases.readonly_session() as session:
        archive = services.find_archive(session, account_id)
    if archive is None or archive.blob is None or archive.ready_at is None:
        raise not_found()
    blob, name = archive.blob, f"modhub-data-{account_id}.zip"
    file = StoredFile(
        blob.key, blob.size, blob.sha256, name, "application/zip", archive.ready_at, False, "no-store", private=True
    )
    return file_response(request, request.store, file)


def own_data_panel(_context: Any, request: Request) -> Markup:
    """The way to the data on the account's page."""
    return Markup(render(f"{DATA_TEMPLATES}account.jinja2", {}, request=request))  # noqa: S704 - a template
