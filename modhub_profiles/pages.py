"""The links of a mod in the workshop, and ``/Modhub/profile``: the forms, without scripts."""

import io
from collections.abc import Callable, Mapping
from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render

from modhub.base.errors import ApiError, invalid, too_large
from modhub.blobs import Blob
from modhub.content import text
from modhub.content.limits import KB
from modhub.content.text import N_
from modhub.plugins.events import ModDetailsSaving
from modhub.plugins.resources import IOwnMod
from modhub.plugins.security import lock_caller
from modhub.plugins.services import IMods, ISquarePictures
from modhub.ui.forms import set_error_status
from modhub.ui.multipart import UploadForm
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import Redirect
from modhub.web.downloads import file_response
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.uploads import stage_upload
from modhub.web.views import page
from modhub_profiles import limits, services
from modhub_profiles.licenses import COMMON, clean_typed_license, words_of
from modhub_profiles.read_service import ProfileReader
from modhub_profiles.resources import IProfile, ProfilePermission
from modhub_profiles.web_links import clean_link, host_of, with_scheme

PARTS: Final = "modhub_profiles:templates/"
LINK_LABELS: Final = {
    "source": N_("Source code"),
    "report": N_("Report a problem"),
    "community": N_("Community"),
}
"""The links of a mod, by JSON field name; translated where they are shown."""


def links_panel(context: Any, request: Request) -> Markup | None:
    """The links and the licence on the page of a mod, which only exists while everybody sees it, and in its preview."""
    links = ProfileReader(request.databases.raw_queries).links_of(context.id or 0)
    if not any(links):
        return None
    values = {"links": links, "labels": tuple(LINK_LABELS.items()), "host_of": host_of, "words_of": words_of}
    return PageHelpers(request).render(f"{PARTS}mod.jinja2", **values)


def links_form_panel(context: Any, request: Request, errors: Mapping[str, str]) -> Markup | None:
    """The fields of links and licence in the form of a mod's details."""
    if not IOwnMod.providedBy(context):
        return None
    links = ProfileReader(request.databases.raw_queries).links_of(context.id)
    shown = links._asdict() | {"license": words_of(links.license) or links.license}
    values = {
        "typed": _typed(request, MOD_FIELDS) if SEEN in request.POST else shown,
        "seen": request.POST.get(SEEN, " ".join(shown.values())),
        "errors": errors,
        "labels": LINK_LABELS,
        "limits": limits,
        "common": COMMON,
    }
    return Markup(render(f"{PARTS}workshop.jinja2", values, request=request))  # noqa: S704 - a template


def save_links(event: ModDetailsSaving) -> None:
    """Change links and licence, unless they are those that the form was rendered with: another tab may have done so."""
    request = event.request
    typed, errors = _typed(request, MOD_FIELDS), FormErrors(request, MOD_FIELDS)
    if request.POST.get(SEEN) in {None, " ".join(typed.values())}:
        return
    changes = {name: errors.check(name, clean_link, with_scheme(typed[name])) for name in LINK_LABELS}
    changes["license"] = errors.check("license", clean_typed_license, typed["license"])
    event.errors.update(errors)
    if not errors:
        owner, mods = request.authenticated_userid, request.find_service(IMods)
        services.change_links(request.dbsession, mods, event.mod_id, owner, changes)


def author_panel(context: Any, request: Request) -> Markup | None:
    """The sentence and the links of an author, and the way to change them on one's own page."""
    profile, ui = ProfileReader(request.databases.raw_queries).profile_of(context.id or 0), PageHelpers(request)
    is_own = ui.account is not None and ui.account == context.id
    if not (profile.sentence or profile.links or is_own):
        return None
    values = {"sentence": profile.sentence, "links": profile.links, "is_own": is_own}
    return ui.render(f"{PARTS}author.jinja2", **values)


def account_panel(_context: Any, request: Request) -> Markup:
    """The way to the profile on the account's page."""
    return Markup(render(f"{PARTS}account.jinja2", {}, request=request))  # noqa: S704 - a template


PROFILE: Final = "/Modhub/profile"
SEEN: Final = "linksSeen"
"""The hidden field with the links and the licence that the form was rendered with."""
PROFILE_TEMPLATE: Final = f"{PARTS}profile.jinja2"
MOD_FIELDS: Final = {**LINK_LABELS, "license": N_("Licence")}
"""The fields of a mod's form and their labels."""
PROFILE_FIELDS: Final = {
    "sentence": N_("One sentence about you"),
    "link1": N_("First link"),
    "link2": N_("Second link"),
    "link3": N_("Third link"),
}
"""The fields of the profile's form and their labels."""
MAX_MADE: Final = 512 * KB
"""Bytes of a picture that we made."""


def _typed(request: Request, fields: dict[str, str]) -> dict[str, str]:
    return {name: request.POST.get(name, "") for name in fields}


class FormErrors(dict[str, str]):
    """The messages of a form by field; :meth:`check` runs a check and keeps what it refuses."""

    def __init__(self, request: Request, labels: dict[str, str]) -> None:
        super().__init__()
        translate = PageHelpers(request).messages.gettext
        self._request, self._translate = request, translate
        self._labels = {name: translate(N_("“%(name)s”"), name=translate(label)) for name, label in labels.items()}

    def check(self, name: str, clean: Callable[..., str], value: str) -> str:
        """The cleaned value of the field; empty if it was refused."""
        try:
            return clean(value, name)
        except ApiError as error:
            self.add(name, error)
            return ""

    def add(self, name: str, error: ApiError) -> None:
        """Keep this error; nothing is saved, and the answer has its status."""
        set_error_status(self._request, error)
        if error.extra.get("limitBytes") is not None:
            size = PageHelpers(self._request).size(limits.PICTURE)
            self[name] = self._translate(N_("The file is too large; the limit is %(size)s."), size=size)
        else:
            self[name] = error.localized(self._translate, self._labels)


@page(context=IProfile, request_method="GET", permission=ProfilePermission.PROFILE, renderer=PROFILE_TEMPLATE)
def profile_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/profile``"""
    return _profile_values(request)


def _profile_values(request: Request, **more: Any) -> dict[str, Any]:
    account_id: int = request.authenticated_userid
    profile = ProfileReader(request.databases.raw_queries).profile_of(account_id)
    with request.databases.readonly_session() as session:
        mods = request.find_service(IMods).get_mods_of_account(session, account_id)
    links = {f"link{number}": link for number, link in enumerate(profile.links, 1)}
    return {
        "typed": {"sentence": profile.sentence, **links},
        "errors": {},
        "labels": PROFILE_FIELDS,
        "picture": profile.picture,
        "page": f"/Modhub/by/{account_id}" if any(mod.published for mod, _ in mods) else "",
        "limits": limits,
        "done": query(request, "done") or "",
        **more,
    }


@page(
    context=IProfile,
    request_method="POST",
    permission=ProfilePermission.PROFILE,
    renderer=PROFILE_TEMPLATE,
    preserve_fields=PROFILE_FIELDS,
)
def profile_submit(_context: Any, request: Request) -> Any:
    """``POST /Modhub/profile``: a longer sentence is cut off."""
    typed, errors = _typed(request, PROFILE_FIELDS), FormErrors(request, PROFILE_FIELDS)
    links = [errors.check(name, clean_link, with_scheme(typed[name])) for name in PROFILE_FIELDS if name != "sentence"]
    if errors:
        return _profile_values(request, typed=typed, errors=errors)
    sentence = text.line(typed["sentence"], limits.SENTENCE)
    is_cut = sentence != text.line(typed["sentence"], len(typed["sentence"]) + 1)
    shown = dict.fromkeys(filter(None, links))
    services.change_profile(request.dbsession, lock_caller(request), sentence, list(shown))
    return Redirect(f"{PROFILE}?done={'cut' if is_cut else 'saved'}")


# UploadForm checks the token, which it reads from the stream.
@page(
    context=IProfile,
    name="picture",
    request_method="POST",
    permission=ProfilePermission.PROFILE,
    renderer=PROFILE_TEMPLATE,
    require_csrf=False,
)
def picture_submit(_context: Any, request: Request) -> Any:
    """``POST /Modhub/profile/picture``: the file that was sent is made into ours at once, and not kept."""
    try:
        blob = _stage_picture(request)
    except ApiError as error:
        errors = FormErrors(request, PROFILE_FIELDS)
        errors.add("picture", error)
        return _profile_values(request, errors=errors)
    services.change_picture(request.dbsession, lock_caller(request), blob)
    return Redirect(f"{PROFILE}?done=picture#picture")


def _stage_picture(request: Request) -> Blob:
    """Everything that takes long, before the first statement."""
    form = UploadForm(request, limits.PICTURE)
    if form.file_name is None:
        raise invalid("Choose a file first.")
    image = io.BytesIO()
    while chunk := form.read(256 * KB):
        image.write(chunk)
        if image.tell() > limits.PICTURE:
            raise too_large(limits.PICTURE)
    image.seek(0)
    made = request.find_service(ISquarePictures).make(image)
    return stage_upload(request, io.BytesIO(made), MAX_MADE)


@page(context=IProfile, name="remove-picture", request_method="POST", permission=ProfilePermission.PROFILE)
def remove_picture_submit(_context: Any, request: Request) -> Redirect:
    """``POST /Modhub/profile/remove-picture``"""
    services.change_picture(request.dbsession, lock_caller(request), None)
    return Redirect(f"{PROFILE}?done=removed#picture")


@page(context=IProfile, name="picture", request_method="GET", permission=ProfilePermission.PROFILE)
def own_picture(_context: Any, request: Request) -> Any:
    """``GET /Modhub/profile/picture``: the own picture, also while nobody else sees it."""
    picture = ProfileReader(request.databases.raw_queries).profile_of(request.authenticated_userid).picture
    if picture is None:
        return Redirect(PROFILE)
    return file_response(request, request.store, picture.stored_file(private=True))
