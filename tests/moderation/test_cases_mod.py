"""Moderators look at the mod of a case, also a hidden one, and at nothing else."""

import hashlib

import pytest

from modhub_testing.pages import messages_on, new_visitor
from tests.people import PNG

from .cases_kit import make_case, rule

pytestmark = pytest.mark.slow
CASES = "/Modhub/moderation/cases"


def digest(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def hidden(site, ada, mo):
    """A hidden mod with an image in its description, the image, and the mod's case."""
    mod = ada.publish("Tool", images=1)
    image = image_of(mod)
    shown = f'<p>What it is for</p><img src="/Modhub/file/{image}" alt="">'
    ada.call("put_json", f"/api/modhub/{mod['id']}", params={"description": shown})
    case_id = make_case(site, ada, mod)
    rule(site, case_id, "hide", mo)
    return mod, image, case_id


def test_a_moderator_looks_at_a_hidden_mod(hidden, mo):
    # C-CAS-11
    _, image, case_id = hidden
    case = f"{CASES}/{case_id}"
    page = mo.pages.get(case)
    assert f"{case}/mod/preview" in [link["href"] for link in page.html.select("a")]
    shown = mo.pages.get(f"{case}/mod/preview")
    assert messages_on(shown)[0] == "preview"
    assert "What it is for" in shown
    assert {tag["src"] for tag in shown.html.select("main img")} == {f"{case}/mod/images/{image}"}
    assert f"/Modhub/file/{image}" not in shown
    assert "/Modhub/mine" not in str(shown.html.main)
    picture = mo.pages.get(f"{case}/mod/images/{image}")
    assert (picture.body, picture.content_type) == (PNG, "image/png")
    assert picture.headers["Content-Disposition"].startswith("inline")
    links = [link["href"] for link in page.html.select("a[download]")]
    assert links == [f"{case}/mod/files/{digest(data)}" for data in (b"code 1", PNG)]
    file = mo.pages.get(links[0])
    assert file.body == b"code 1"
    assert file.headers["Content-Disposition"].startswith("attachment")
    assert file.headers["Cache-Control"] == "no-store"
    assert file.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "sandbox" in file.headers["Content-Security-Policy"]


def names_of(image):
    """What a moderator reads below a case."""
    return ("preview", f"images/{image}", f"files/{digest(b'code 1')}")


def test_nobody_else_does(site, hidden, ada, bob):
    # C-CAS-11
    _, image, case_id = hidden
    for visitor in (new_visitor(site), bob.pages, ada.pages):
        for name in names_of(image):
            refused = visitor.get(f"{CASES}/{case_id}/mod/{name}", status=404)
            assert "What it is for" not in refused
    site.get(f"/api/modhub/{CASES}", status=404)


def test_only_the_mod_of_the_case_is_shown(site, hidden, ada, bob, mo):
    # C-CAS-11
    mod, image, case_id = hidden
    other = bob.draft("Other")
    bob.upload(other, "1", b"another code")
    theirs = image_of(bob.publish("With an image", images=1))
    of_account = make_case(site, ada)
    absent = [
        *(f"{case_id}/mod/{name}" for name in ("", "preview/x", "images/x", "images/999", f"images/{theirs}")),
        *(f"{case_id}/mod/files/{name}" for name in ("x", digest(b"another code"))),
        *(f"{of_account}/mod/{name}" for name in names_of(image)),
        "999/mod/preview",
    ]
    for path in absent:
        mo.pages.get(f"{CASES}/{path}", status=404)
    assert "Other" in mo.pages.get(f"{CASES}/{make_case(site, bob, other)}/mod/preview")
    ada.call("delete", f"/api/modhub/{mod['id']}", status=204)
    for name in names_of(image):
        mo.pages.get(f"{CASES}/{case_id}/mod/{name}", status=404)
    mo.pages.get(f"{CASES}/{case_id}")


def test_a_removed_image_can_still_be_looked_at(site, ada, mo):
    # C-CAS-11: by who decides the appeal.
    mod = ada.publish("Tool", images=1)
    image, case_id = image_of(mod), make_case(site, ada, mod)
    rule(site, case_id, "remove", mo, part="image", part_key=str(image))
    mo.pages.get(f"{CASES}/{case_id}/mod/images/{image}", status=404)
    (link,) = [tag for tag in mo.pages.get(f"{CASES}/{case_id}").html.select("a[download]") if tag.string == "0.png"]
    assert mo.pages.get(link["href"]).body == PNG
    location = mo.pages.get(f"{CASES}/{case_id}/mod/preview", status=303).headers["Location"]
    assert location == f"/Modhub/{mod['id']}", "everybody sees the mod"


def image_of(mod):
    (url,) = [asset["url"] for asset in mod["assets"] if asset["kind"] == "image"]
    return int(url.rpartition("/")[2])
