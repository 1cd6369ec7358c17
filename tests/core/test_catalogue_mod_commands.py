"""``modhub-admin mod``: output and exit codes."""

import hashlib
import io
import uuid

import pytest

from modhub.base.settings import StartRefused
from modhub.catalogue.moderating import reads
from modhub.plugins.services import ISnapshots
from modhub_testing.mods import OWNER, hide_mod, insert_mods, mod_address, new_mod, published_mod, upload_asset

pytestmark = pytest.mark.slow


@pytest.fixture
def run(site, run_admin):
    """``run("list")``: (exit code, lines of output)."""

    def command(*words):
        code, said = run_admin(site, "mod", *words)
        return code, said.splitlines()

    return command


def listed(run, *words):
    code, lines = run("list", *words)
    assert code == 0
    return [int(line.split()[0]) for line in lines if line[0].isdigit()]


@pytest.mark.postgres
def test_a_list_has_every_mod_and_is_narrowed(site, run):
    # C-RUN-4
    assert run("list") == (0, ["No matching mods."])
    draft = new_mod(site, title="Frée coins", games=["Portal"])
    shown = published_mod(site, 8, "Café HUD", games=["Half-Life"])
    hidden = published_mod(site, title="free Coins again")
    hide_mod(site, hidden)
    at = {mod["id"]: own["updatedAt"] for mod in (draft, shown, hidden) for own in [mod]}
    assert run("list") == (
        0,
        [
            f"{hidden['id']} hidden, account 7, changed {at[hidden['id']]}: free Coins again",
            f"{shown['id']} published, account 8, changed {at[shown['id']]}: Café HUD",
            f"{draft['id']} draft, account 7, changed {at[draft['id']]}: Frée coins",
        ],
    )
    assert listed(run, "--owner", "7") == [hidden["id"], draft["id"]]
    assert [listed(run, "--state", state) for state in ("draft", "published", "hidden")] == [
        [draft["id"]],
        [shown["id"]],
        [hidden["id"]],
    ]
    assert listed(run, "coins", "FREE") == [hidden["id"], draft["id"]]
    assert listed(run, "half", "cafe") == [shown["id"]]
    digest = hashlib.sha256(b"code of " + hidden["guid"].encode()).hexdigest()
    assert listed(run, "--sha256", digest.upper()) == [hidden["id"]]
    hide_mod(site, draft)
    assert listed(run, "--state", "hidden", "--owner", "7", "coins") == [hidden["id"], draft["id"]]


@pytest.mark.postgres
def test_a_long_list_has_pages(site, run, monkeypatch):
    monkeypatch.setattr(reads, "BATCH", 3)
    ids = insert_mods(site, [{"title": f"mod {at % 2}"} for at in range(11)])[::-1]
    assert listed(run) == ids
    assert listed(run, "--limit", "4") == ids[:4]
    assert run("list", "--limit", "4")[1][-1] == "There are more: --page 2"
    assert listed(run, "--limit", "4", "--page", "3") == ids[8:]
    assert run("list", "--page", "2") == (0, ["There are no more."])


def test_all_about_one_mod(site, run, monkeypatch):
    # C-RUN-4
    absent = str(uuid.uuid4())
    needed = new_mod(site, 8, "Needed")
    mod = new_mod(
        site, title="HUD", description="<p>A <b>calm</b> one.</p>", games=["Portal", "Quake"],
        requires=[needed["guid"], absent],
    )  # fmt: skip
    upload_asset(site, mod, "code", b"one", version="1", name="hud.zip")
    upload_asset(site, mod, "code", b"two", version="2", name="hud.zip")
    mod = upload_asset(site, mod, "css", b"css", name="hud.css", content_type="text/css")
    users = [published_mod(site, 9, f"User {at}", requires=[mod["guid"].upper()]) for at in range(2)]
    new_mod(site, 9, "A draft that needs it", requires=[mod["guid"]])
    hide_mod(site, mod, "Looks like malware.")
    code, lines = run("show", mod["guid"].upper())
    assert code == 0
    output = "\n".join(lines)
    assert lines[0] == f"{mod['id']} HUD"
    for line in (
        f"  GUID: {mod['guid']}",
        "  owner: account 7 (Person 7)",
        "  state: hidden, a draft",
        "  reason: Looks like malware.",
        "  version: 2",
        "  games: Portal, Quake",
        "  description: A calm one.",
        f"    SHA-256 {hashlib.sha256(b'two').hexdigest()}",
        f"  requires: {needed['guid']} ({needed['id']} Needed, draft)",
        f"  requires: {absent} (not on this site)",
        *(f"  required by: {user['id']} {user['title']}, published" for user in users),
        "  changelog: 2, 1",
    ):
        assert line in lines, line
    assert "  code: hud.zip, 3 bytes, application/zip, 20" in output
    assert "A draft that needs it" not in output
    # Many users are counted.
    monkeypatch.setattr(reads, "MAX_USERS_LISTED", 1)
    assert "  required by: 1 more" in run("show", mod["guid"])[1]
    assert run("delete", mod["guid"])[1][1].endswith(" and 1 more.")
    code, lines = run("show", "999", str(users[1]["id"]), "nonsense")
    assert code == 1
    assert lines[:2] == ["There is no mod 999.", "There is no mod nonsense."]


def test_hiding_and_restoring_take_effect_at_once_and_twice_is_well(site, run):
    # C-RUN-4
    first, second = published_mod(site, title="One"), published_mod(site, title="Two")
    names = (str(first["id"]), second["guid"].upper())
    code, lines = run("hide", *names, "--reason", " Looks  like\nmalware ")
    why = " Reason: Looks  like malware"
    hidden = [f"Mod {mod['id']} ({mod['title']}) is now hidden.{why}" for mod in (first, second)]
    assert (code, lines[:-1]) == (0, hidden)
    assert lines[-1].startswith("To undo all of it: mod restore --batch ")
    assert site.get("/api/modhub").json["total"] == 0
    assert run("hide", names[0]) == (0, [f"Mod {first['id']} (One) is already hidden.{why}"])
    code, lines = run("restore", "999", *names, names[0])
    assert (code, lines[0]) == (1, "There is no mod 999.")
    assert lines[1:] == [f"Mod {mod['id']} ({mod['title']}) is public again." for mod in (first, second)]
    assert site.get("/api/modhub").json["total"] == 2
    assert run("restore", names[0]) == (0, [f"Mod {first['id']} (One) is not hidden."])
    draft = new_mod(site, title="Three")
    run("hide", str(draft["id"]))
    assert "it is a draft" in run("restore", str(draft["id"]))[1][0]
    site.get(mod_address(draft), status=404)


def test_many_are_hidden_together_and_undone_by_their_number(site, run, monkeypatch):
    # C-RUN-4
    kept, earlier, again = (published_mod(site, title=title) for title in ("Kept", "Earlier", "Again"))
    other, draft = published_mod(site, 8, "Other"), new_mod(site, title="Draft")
    hide_mod(site, earlier, "Before that")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{other['guid']}\n {other['id']}\nabsent"))
    code, lines = run("hide", "--owner", "7", "-", "--dry-run")
    assert (code, lines[0], lines[-1]) == (1, "There is no mod absent.", "Nothing was changed.")
    assert site.get("/api/modhub").json["total"] == 3
    with site.counted() as statements:
        code, lines = run("hide", "--owner", "7", str(other["id"]))
    assert (code, len(lines)) == (0, 5)
    assert site.get("/api/modhub").json["total"] == 0
    assert sum("UPDATE core_mod" in str(statement) for statement in statements) <= 1
    number = lines[-1].split()[-1]
    run("restore", str(again["id"]))
    run("hide", str(again["id"]), "--reason", "For another reason")
    run("delete", str(kept["id"]), "--yes")
    code, lines = run("restore", "--batch", number, "--dry-run")
    assert (code, len(lines)) == (0, 4)
    code, lines = run("restore", "--batch", number)
    assert lines == [
        f"Mod {other['id']} (Other) is public again.",
        f"Mod {draft['id']} (Draft) is hidden no longer; it is a draft, so only its owner sees it.",
        "Of the 4 mods of the batch, 2 were still hidden by it.",
    ]
    assert listed(run, "--state", "hidden") == [again["id"], earlier["id"]]
    with pytest.raises(StartRefused, match="no batch"):
        run("restore", "--batch", "1")


def test_a_spam_wave_costs_few_statements(site, run):
    # C-RUN-4
    ids = insert_mods(site, [{} for _ in range(600)])
    run("list", "--owner", "7", "--ids")
    with site.counted() as few:
        run("hide", *map(str, ids[:5]))
    with site.counted() as many:
        run("hide", *map(str, ids[5:]))
    # SQLite inserts row by row where the new id is asked for.
    counts = [sum("INSERT INTO core_audit" not in str(each) for each in seen) for seen in (few, many)]
    assert counts[1] < counts[0] + 20
    assert run("list", "--state", "published", "--ids") == (0, [])


def test_how_to_undo_it_is_said_before_others_work_on_it(site, run, capsys, monkeypatch):
    """A snapshot without the mods takes minutes, and may fail."""
    # C-RUN-4
    ids, said = insert_mods(site, [{} for _ in range(3)]), []

    class Snapshots:
        def replace_hidden(self):
            said.append(capsys.readouterr().out.splitlines()[-1].rpartition(" ")[0])

    monkeypatch.setitem(site.registry, ISnapshots, Snapshots())
    run("hide", *map(str, ids))
    assert said == ["To undo all of it: mod restore --batch"]


def test_deleting_asks_for_yes_and_leaves_nothing(site, run):
    # C-RUN-4
    mod = published_mod(site, title="Bad")
    upload_asset(site, mod, "images", b"image", content_type="image/png")
    site.as_account(8).put_json(mod_address(mod, "vote"), {"value": 1})
    user = published_mod(site, 8, "User", requires=[mod["guid"]])
    hide_mod(site, mod)
    number, size = str(mod["id"]), mod["assets"][0]["bytes"] + 5
    goes = f"2 files ({size} bytes in total), 1 changelog entry and 1 vote"
    code, lines = run("delete", number)
    assert (code, lines) == (
        1,
        [
            f"Mod {number} (Bad) of account 7 would be permanently deleted, with {goes}.",
            f"1 published mod requires it: {user['id']} User, published.",
            "Nothing was changed. Add --yes to do it.",
        ],
    )
    assert site.as_account(OWNER).get("/api/modhub/mine").json["count"] == 1
    code, lines = run("delete", number, "--yes")
    assert (code, lines) == (
        0,
        [f"Mod {number} (Bad) was deleted, with {goes}. A sweep removes the files after two days."],
    )
    assert run("delete", number, "x y", "--yes") == (1, [f"There is no mod {number}.", "There is no mod x y."])
    assert site.get(mod_address(user)).json["missing"] == [mod["guid"]]
