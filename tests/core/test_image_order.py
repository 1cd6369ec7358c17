"""The order and the captions that owners give their images."""

import pytest

from modhub_testing.mods import OWNER, copy_damage, mod_address, new_mod, published_mod, upload_asset
from modhub_testing.pages import form_at, new_visitor, workshop_form

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n"


def add_images(site, mod, *names):
    """Upload images and return their ids."""
    for name in names:
        answer = upload_asset(site, mod, "images", PNG, content_type="image/png", name=name)
    return [asset["url"].rpartition("/")[2] for asset in answer["assets"] if asset["name"] in names]


def read(site, mod):
    return site.get(mod_address(mod)).json


def order_of(site, mod):
    return [asset["name"] for asset in read(site, mod)["assets"] if asset["kind"] == "image"]


def test_the_order_is_the_owners(site):
    # C-PIC-21, C-MOD-12, C-MOD-13
    mod = published_mod(site)
    ids = add_images(site, mod, "a", "b", "c")
    author, here = new_visitor(site, OWNER), f"/Modhub/mine/{mod['id']}"
    before = read(site, mod)["updatedAt"]

    def press(image, to):
        form = workshop_form(author, f"{here}/image-order")
        button = form.response.html.select_one(f"#image-{image} button:-soup-contains('{to}')")
        return author.post(
            f"{here}/image-order", {"csrf_token": form["csrf_token"].value, "order": button["value"]}, status=303
        ).follow()

    press(ids[2], "Use as cover")
    assert order_of(site, mod) == ["c", "a", "b"]
    assert read(site, mod)["updatedAt"] > before
    press(ids[1], "Move earlier")
    assert order_of(site, mod) == ["c", "b", "a"]

    def drag(*order):
        form = workshop_form(author, f"{here}/image-order")
        author.post(form.action, {"csrf_token": form["csrf_token"].value, "order": " ".join(order)}, status=303)

    drag(ids[0], ids[1])
    assert order_of(site, mod) == ["a", "b", "c"]
    # What is gone or was never an image does not count.
    for wrong in ("", "0 x", "9" * 21):
        drag(wrong)
    assert order_of(site, mod) == ["a", "b", "c"]
    # What is uploaded later comes last; the first one leads lists.
    add_images(site, mod, "d")
    assert order_of(site, mod) == ["a", "b", "c", "d"]
    assert site.get("/Modhub").html.select_one(".card img")["src"] == f"/Modhub/file/{ids[0]}"
    assert copy_damage(site) == []


def test_captions_are_saved_together_and_undo_none_of_another_tab(site):
    # C-PAGE-25, C-PIC-9
    mod = new_mod(site)
    first, second, third = add_images(site, mod, "a", "b", "c")
    author, here = new_visitor(site, OWNER), f"/Modhub/mine/{mod['id']}"

    def captions():
        return [field["value"] for field in author.get(f"{here}?part=images").html.select(".gallery input[id]")]

    form = workshop_form(author, f"{here}/captions")
    form[f"caption-{first}"] = "x" * 300
    assert form.submit(status=303).follow().html.select_one(".note.good")["data-cut"] == "caption"
    form, stale = (workshop_form(author, f"{here}/captions") for _ in range(2))
    form[f"caption-{first}"], form[f"caption-{second}"] = "One", "Two"
    form.submit(status=303)
    # Each button brings along what was typed: a move, a deletion, an upload that is refused.
    stale[f"caption-{third}"] = "Three"
    stale.action = f"{here}/images/{second}/remove"
    stale.submit(status=303)
    assert captions() == ["One", "Three"]
    form[f"caption-{first}"], form[f"caption-{second}"] = "Other", "Of what is gone"
    form.submit(status=303)
    assert captions() == ["Other", "Three"]
    form[f"caption-{first}"] = ""
    form.submit(status=303)
    assert captions() == ["", "Three"]
    ours = {"Origin": site.registry.settings["modhub.base_url"]}
    again = author.post(f"{here}/captions", {f"caption-{first}": "Typed"}, headers=ours, status=400)
    form_at(again, f"{here}/captions").submit(status=303)
    assert captions() == ["Typed", "Three"]
