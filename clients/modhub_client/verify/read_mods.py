"""The fields of mods and of changelogs, as far as published content shows them: shapes, limits, allowed HTML."""

from itertools import pairwise
from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run
from modhub_client.verify.shapes import (
    MOD,
    MOD_FIELDS,
    NOTE,
    NUMBER,
    TEXT,
    TIME,
    described_answer,
    list_of,
    object_of,
    require_shape,
)

_FIELDS_OF_FEATURES: Final = {
    "modhub_auth": "author",
    "modhub_downloads": "downloads",
    "modhub_tags": "tags",
    "modhub_profiles": "links",
}
"""What a feature adds to the details of a mod."""


def label_of_mod(mod: dict[str, Any]) -> str:
    """How sentences call a mod."""
    return f"the mod {mod['id']}"


@check("C-MOD-1", "C-READ-1", "C-READ-2")
def a_single_read_is_the_mod_of_the_list(run: Run) -> None:
    """Of the whole shape, as each entry of ``install``; the mod itself comes last there."""
    for mod in run.mods:
        require_shape(label_of_mod(mod), MOD, mod)
    shape = object_of(**MOD_FIELDS, install=list_of(MOD), missing=list_of(TEXT))
    for mod in run.mods[:3]:
        single = run.service.read(f"/api/modhub/{mod['id']}")
        require_shape("the single read", shape, single)
        require_equal("the fields of the single read", mod, {name: single.get(name) for name in mod})
        require_equal("the last entry of install", mod["guid"], single["install"][-1]["guid"])


@check("C-MOD-2")
def ids_and_guids_belong_to_one_mod(run: Run) -> None:
    """None occurs twice in a list."""
    for field in ("id", "guid"):
        values = [str(mod[field]).lower() for mod in run.mods]
        require_equal(f"the number of different {field}s", len(values), len(set(values)))


@check("C-MOD-1")
def the_address_of_a_mod_is_its_page(run: Run) -> None:
    """Relative to the service."""
    for mod in run.mods:
        require_equal(f"url of {label_of_mod(mod)}", f"/Modhub/{mod['id']}", mod["url"])


@check("C-TXT-4", added=True)
def times_have_microseconds_and_are_utc(run: Run) -> None:
    """And no mod changed before it was created."""
    for mod in run.mods:
        require_shape(label_of_mod(mod), object_of(createdAt=TIME, updatedAt=TIME), mod)
        require(mod["createdAt"] <= mod["updatedAt"], f"{label_of_mod(mod)} changed before it was created.")


@check("C-TXT-6", added=True)
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


@check("C-READ-8", "C-NOTE-1")
def a_changelog_has_its_entries_newest_first(run: Run) -> None:
    """``{count, notes}``, each entry with all its fields."""
    for mod in run.mods[:5]:
        changelog = run.service.read(f"/api/modhub/{mod['id']}/changelog")
        require_shape("the changelog", object_of(count=NUMBER, notes=list_of(NOTE)), changelog)
        require_equal("count", len(changelog["notes"]), changelog["count"])
        for newer, older in pairwise(note["createdAt"] for note in changelog["notes"]):
            require(newer >= older, f"the changelog of {label_of_mod(mod)} is not newest first.")


@check("C-READ-13", added=True)
def what_stands_beside_mods_comes_at_once(run: Run) -> None:
    """In the order asked, doubles merged, with what the features of the service add."""
    ids = [mod["id"] for mod in reversed(run.mods[:5])]
    reply = run.service.ask("/api/modhub/details", {"ids": [UNKNOWN_ID, *ids, *ids, -1]})
    details = described_answer(run, "POST /api/modhub/details", reply.expect_named("Cache-Control", "no-store"))
    require_equal("missing", [UNKNOWN_ID, -1], details["missing"])
    require_equal("the mods of the details", ids, [entry["id"] for entry in details["details"]])
    for mod, entry in zip(reversed(run.mods[:5]), details["details"], strict=True):
        expected = mod["guid"], run.digest_of(mod)
        require_equal("guid and sha256 of a mod", expected, (entry["guid"], entry["sha256"]))
        for feature, field in _FIELDS_OF_FEATURES.items():
            require_equal(f"whether {field} is there", feature in run.features, field in entry)
    for bad in ("1", None, [True], ["1"], [1.5], list(range(1, 102))):
        run.service.ask("/api/modhub/details", {"ids": bad}).expect_error(400)
