"""What owners, voters and operators do with mods, in one call each."""

from modhub.admin.program import Admin
from modhub.catalogue.commands import add_game
from modhub_testing.mods import OWNER, mod_address
from modhub_testing.pages import new_visitor, workshop_form


def own_mods(site):
    """What the owner's list has, drafts too."""
    return site.as_account(OWNER).get("/api/modhub/mine", status=200).json["mods"]


def edit_mod(site, mod, **fields):
    return site.as_account(OWNER).put_json(mod_address(mod), fields, status=200).json


def write_note(site, mod, note_id, text):
    site.as_account(OWNER).put_json(mod_address(mod, "changelog", note_id), {"text": text}, status=200)


def asset_id(asset):
    """Of its document in a mod."""
    return int(asset["url"].rpartition("/")[2])


def write_caption(site, mod, image, caption):
    entry = {"assetId": asset_id(image), "caption": caption}
    site.as_account(OWNER).put_json(mod_address(mod, "captions"), {"captions": [entry]}, status=200)


def delete_mod(site, mod):
    site.as_account(OWNER).delete(mod_address(mod), status=204)


def vote(site, mod, account, value=1):
    site.as_account(account).put_json(mod_address(mod, "vote"), {"value": value}, status=200)


def curate_game(site, name, display=None, icon=None):
    """Put a game into the operator's list."""
    add_game(Admin(site.config), name, display, icon)


def own_form(site, mod):
    """The form of a mod's details, as its owner has it."""
    return workshop_form(new_visitor(site, OWNER), f"/Modhub/mine/{mod['id']}")


def save_details(site, mod, status=303, headers=None, **fields):
    """Send the form of a mod's details, as its owner."""
    form = own_form(site, mod)
    for name, value in fields.items():
        form[name] = value
    return form.submit(status=status, headers=headers)
