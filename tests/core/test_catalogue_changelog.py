"""A mod's changelog: entries come from uploads, authors edit them, deletion frees the version."""

import pytest

from modhub_testing.mods import OWNER, mod_address, notes_of_mod, published_mod, upload_asset

pytestmark = pytest.mark.slow


def note_call(site, method, mod, note, *body, status=200):
    own = site.as_account(OWNER)
    url = mod_address(mod, "changelog", note["id"])
    if method == "DELETE":
        return own.delete(url, status=status)
    return own.put_json(url, *body, status=status).json


def test_an_edit_changes_what_is_sent_and_makes_it_its_authors(site):
    # C-NOTE-3
    mod = published_mod(site)
    (note,) = notes_of_mod(site, mod)
    changed = note_call(site, "PUT", mod, note, {"text": "<p>new<script>x</script></p>"})
    assert changed == {**note, "text": "<p>new</p>", "editedAt": changed["editedAt"], "automatic": False}
    assert changed["editedAt"] > note["createdAt"]
    assert notes_of_mod(site, mod) == [changed]
    titled = note_call(site, "PUT", mod, note, {"title": " a\nb " + "x" * 200})
    assert titled["title"] == ("a b " + "x" * 200)[:120]
    assert titled["text"] == "<p>new</p>"
    assert note_call(site, "PUT", mod, note, {"title": None, "text": None})["title"] is None
    assert notes_of_mod(site, mod)[0]["text"] == "<p>new</p>"
    assert note_call(site, "PUT", mod, note, {"text": ""})["text"] == ""
    assert len(note_call(site, "PUT", mod, note, {"text": "y" * 9000})["text"]) == 4000


def test_deleting_frees_the_version_whatever_the_title_is_by_then(site):
    # C-NOTE-4
    mod = published_mod(site, version="1")
    upload_asset(site, mod, "code", version="2")
    second, first = notes_of_mod(site, mod)
    note_call(site, "PUT", mod, first, {"title": "2.5"})
    upload_asset(site, mod, "code", version="1", status=409)
    # The title is only a heading: it reserves nothing.
    upload_asset(site, mod, "code", version="2.5")
    note_call(site, "DELETE", mod, first, status=204)
    assert site.get(mod_address(mod)).json["version"] == "2.5"
    upload_asset(site, mod, "code", b"again", version="1")
    assert [note["title"] for note in notes_of_mod(site, mod)] == ["1", "2.5", "2"]
    note_call(site, "PUT", mod, second, {"title": None})
    upload_asset(site, mod, "code", version="2", status=409)
    note_call(site, "DELETE", mod, first, status=401)
