"""The fields of mods, as far as published content shows them: shapes and limits."""

from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import Run
from modhub_client.verify.shapes import MOD_SHAPE, TIME_SHAPE, require_shape

_OVERRIDES: Final = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_KINDS: Final = ["code", "css", "image"]


def label_of_mod(mod: dict[str, Any]) -> str:
    """How sentences call a mod."""
    return f"the mod {mod['id']}"


@check("C-MOD-1", part="read")
def every_call_gives_a_mod_its_whole_shape(run: Run) -> None:
    """Lists, the single read, and each entry of ``install``."""
    for mod in run.mods:
        require_shape(label_of_mod(mod), MOD_SHAPE, mod)
    for mod in run.mods[:3]:
        single = run.service.get(f"/api/modhub/{mod['id']}").expect(200).document()
        require_shape("the single read", {**MOD_SHAPE, "install": [MOD_SHAPE], "missing": [str]}, single)


@check("C-MOD-2", part="read")
def ids_and_guids_belong_to_one_mod(run: Run) -> None:
    """None occurs twice in a list."""
    for field in ("id", "guid"):
        values = [str(mod[field]).lower() for mod in run.mods]
        require_equal(f"the number of different {field}s", len(values), len(set(values)))


@check("C-MOD-3", part="read")
def titles_have_at_most_120_characters(run: Run) -> None:
    """And are never empty."""
    for mod in run.mods:
        require(0 < len(mod["title"]) <= 120, f"{label_of_mod(mod)}: the title has {len(mod['title'])} characters.")


@check("C-TXT-2", part="read", added=True)
def titles_are_one_line(run: Run) -> None:
    """Without line breaks, tabs and overrides of the writing direction."""
    for mod in run.mods:
        odd = [character for character in mod["title"] if character in f"\n\t{_OVERRIDES}"]
        require(not odd, f"{label_of_mod(mod)}: the title has {odd!r}.")


@check("C-MOD-4", part="read")
def descriptions_have_at_most_8000_characters(run: Run) -> None:
    """Counted as code points."""
    for mod in run.mods:
        require(
            len(mod["description"]) <= 8000,
            f"{label_of_mod(mod)}: the description has {len(mod['description'])} characters.",
        )


@check("C-MOD-6", part="read")
def games_are_at_most_twenty_names(run: Run) -> None:
    """Of 1 to 120 characters each."""
    for mod in run.mods:
        require(len(mod["games"]) <= 20, f"{label_of_mod(mod)} has {len(mod['games'])} games.")
        require(
            all(0 < len(game) <= 120 for game in mod["games"]),
            f"{label_of_mod(mod)}: a game's name is empty or too long.",
        )


@check("C-MOD-7", part="read")
def a_mod_names_each_game_once(run: Run) -> None:
    """Capitals and outer spaces make no difference."""
    for mod in run.mods:
        names = [game.strip().casefold() for game in mod["games"]]
        require_equal(f"the games of {label_of_mod(mod)}, each once", list(dict.fromkeys(names)), names)


@check("C-MOD-8", "C-MOD-9", "C-MOD-10", part="read")
def required_and_conflicting_mods_are_guids(run: Run) -> None:
    """At most 50 in a list, in the form 8-4-4-4-12, each once whatever its capitals, never its own nor one in both."""
    for mod in run.mods:
        lists = [[guid.lower() for guid in mod[field]] for field in ("requires", "conflictsWith")]
        require_shape(
            f"the lists of {label_of_mod(mod)}",
            {"requires": [MOD_SHAPE["guid"]], "conflictsWith": [MOD_SHAPE["guid"]]},
            mod,
        )
        for guids in lists:
            require(len(guids) <= 50, f"{label_of_mod(mod)} lists {len(guids)} GUIDs.")
            require_equal(f"the GUIDs of {label_of_mod(mod)}, each once", len(set(guids)), len(guids))
            require(mod["guid"].lower() not in guids, f"{label_of_mod(mod)} lists itself.")
        require(not set(lists[0]) & set(lists[1]), f"{label_of_mod(mod)} requires a mod that it conflicts with.")


@check("C-MOD-11", "C-TXT-5", part="read")
def the_address_of_a_mod_is_its_page(run: Run) -> None:
    """Relative to the service."""
    for mod in run.mods:
        require_equal(f"url of {label_of_mod(mod)}", f"/Modhub/{mod['id']}", mod["url"])


@check("C-MOD-12", "C-TXT-5", part="read", added=True)
def files_come_as_code_css_images(run: Run) -> None:
    """At most one code and one css; each at an address of its own."""
    for mod in run.mods:
        kinds = [asset["kind"] for asset in mod["assets"]]
        require_equal(f"the order of files of {label_of_mod(mod)}", sorted(kinds, key=_KINDS.index), kinds)
        require(kinds.count("code") <= 1 >= kinds.count("css"), f"{label_of_mod(mod)} has {kinds}.")
        for asset in mod["assets"]:
            number = asset["url"].removeprefix("/Modhub/file/")
            require(number.isdigit(), f"{label_of_mod(mod)}: a file is at {asset['url']}.")
            require(asset["bytes"] > 0, f"{label_of_mod(mod)}: the file {asset['name']!r} is empty.")


@check("C-OWN-8", part="read")
def every_published_mod_has_a_code_file(run: Run) -> None:
    """Without one a mod cannot be published."""
    for mod in run.mods:
        require(any(asset["kind"] == "code" for asset in mod["assets"]), f"{label_of_mod(mod)} has no code file.")


@check("C-UP-11", part="read")
def files_keep_their_limits(run: Run) -> None:
    """64 MB of code, 256 KB of css, 2 MB an image, 10 MB all images of a mod."""
    limits = {"code": 64 * 1024 * 1024, "css": 256 * 1024, "image": 2 * 1024 * 1024}
    for mod in run.mods:
        for asset in mod["assets"]:
            require(
                asset["bytes"] <= limits[asset["kind"]],
                f"{label_of_mod(mod)}: {asset['kind']} has {asset['bytes']} bytes.",
            )
        images = sum(asset["bytes"] for asset in mod["assets"] if asset["kind"] == "image")
        require(images <= 10 * 1024 * 1024, f"{label_of_mod(mod)}: all images have {images} bytes.")


@check("C-UP-7", "C-UP-8", part="read", added=True)
def names_and_versions_keep_their_limits(run: Run) -> None:
    """A name is no path and has at most 255 characters, a version at most 64."""
    for mod in run.mods:
        require(len(mod["version"]) <= 64, f"{label_of_mod(mod)}: the version has {len(mod['version'])} characters.")
        for asset in mod["assets"]:
            name = asset["name"]
            require(
                0 < len(name) <= 255 and not set(name) & {"/", "\\"},
                f"{label_of_mod(mod)}: a file is called {name!r}.",
            )


@check("C-TXT-4", part="read", added=True)
def times_have_microseconds_and_are_utc(run: Run) -> None:
    """And no mod changed before it was created."""
    for mod in run.mods:
        require_shape(label_of_mod(mod), {"createdAt": TIME_SHAPE, "updatedAt": TIME_SHAPE}, mod)
        require(mod["createdAt"] <= mod["updatedAt"], f"{label_of_mod(mod)} changed before it was created.")


@check("C-TXT-6", part="read", added=True)
def what_is_no_plain_number_is_an_unknown_id(run: Run) -> None:
    """Leading zeros, signs and other digits lead nowhere."""
    mod_id = run.mods[0]["id"]
    for name in (
        f"0{mod_id}",
        f"+{mod_id}",
        f"-{mod_id}",
        f"{mod_id}.0",
        f"{mod_id}%20",
        hex(mod_id),
        f"{mod_id}e0",
        "%D9%A1",
    ):
        run.service.get(f"/api/modhub/{name}").expect_error(404, "not_found")
        run.service.get(f"/Modhub/{name}").expect(404)
    for name in ("00", "one"):
        run.service.get(f"/Modhub/file/{name}").expect(404)
