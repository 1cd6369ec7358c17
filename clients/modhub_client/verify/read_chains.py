"""The single read: what must be installed for a mod, and in which order."""

from typing import Any, Final
from urllib.parse import urljoin

from modhub_client.verify.checks import check
from modhub_client.verify.replies import Reply, Skipped, require, require_equal
from modhub_client.verify.run import UNKNOWN_GUID, UNKNOWN_ID, Run, find_asset

Chain = dict[str, Any]
_CHAINS: Final = 8
"""So many mods with requirements are read."""


def read_chains(run: Run) -> list[Chain]:
    """Mods that require others; `Skipped` if there are none."""
    mods = [mod for mod in run.mods if mod["requires"]][:_CHAINS]
    if not mods:
        raise Skipped("no mod of the newest hundred requires another one")
    return [read_single(run, mod).document() for mod in mods]


def read_single(run: Run, mod: Chain) -> Reply:
    """The single read of a mod."""
    return run.service.get(f"/api/modhub/{mod['id']}").expect(200)


def walk(single: Chain) -> tuple[list[str], list[str]]:
    """The order that ``install`` must have, and ``missing``: depth first in list order, without recursion."""
    mods = {mod["guid"].lower(): mod for mod in single["install"]}
    order: list[str] = []
    missing: dict[str, str] = {}
    seen = {single["guid"].lower()}
    waiting = [(single["guid"].lower(), iter(mods[single["guid"].lower()]["requires"]))]
    while waiting:
        guid, requires = waiting[-1]
        required = next(requires, None)
        if required is None:
            order.append(guid)
            waiting.pop()
        elif required.lower() not in mods:
            missing.setdefault(required.lower(), required)
        elif required.lower() not in seen:
            seen.add(required.lower())
            waiting.append((required.lower(), iter(mods[required.lower()]["requires"])))
    return order, list(missing.values())


def _order(single: Chain) -> list[str]:
    return [mod["guid"].lower() for mod in single["install"]]


@check("C-READ-1", "C-READ-8", "C-READ-9")
def an_absent_mod_is_404(run: Run) -> None:
    """One answer on each of its addresses; to a GUID as a number, too."""
    paths = (f"{name}{below}" for name in (UNKNOWN_ID, UNKNOWN_GUID) for below in ("", "/changelog", "/download"))
    bodies = {str(run.service.get(f"/api/modhub/{path}").expect_error(404)) for path in paths}
    require(run.interface_only or len(bodies) == 1, f"absent mods have {len(bodies)} answers.")


@check("C-READ-2")
def install_has_the_whole_chain(run: Run) -> None:
    """What any entry requires is an entry itself, or missing; each is a complete mod, once, that can be downloaded."""
    for single in read_chains(run):
        order = _order(single)
        require_equal(f"install of {single['id']}, each mod once", list(dict.fromkeys(order)), order)
        known = {*order, *(guid.lower() for guid in single["missing"])}
        for mod in single["install"]:
            left = [guid for guid in mod["requires"] if guid.lower() not in known]
            require(not left, f"install of {single['id']}: {left} of the mod {mod['id']} is neither there nor missing.")
            require(find_asset(mod, "code"), f"install of {single['id']}: the mod {mod['id']} has no code file.")


@check("C-READ-2")
def each_entry_comes_after_what_it_requires(run: Run) -> None:
    """Unless they require each other."""
    for single in read_chains(run):
        order = _order(single)
        requires = {mod["guid"].lower(): {guid.lower() for guid in mod["requires"]} for mod in single["install"]}
        for place, guid in enumerate(order):
            late = {other for other in requires[guid] & set(order[place:]) if not _reaches(requires, other, guid)}
            require(not late, f"install of {single['id']}: {guid} comes before {sorted(late)}.")


def _reaches(requires: dict[str, set[str]], start: str, target: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        for guid in requires.get(waiting.pop(), set()) - seen:
            seen.add(guid)
            waiting.append(guid)
    return target in seen


@check("C-READ-2", "C-READ-6", added=True)
def install_is_depth_first_in_list_order(run: Run) -> None:
    """Of published mods only; what is missing is named as it is met."""
    for single in read_chains(run):
        order, missing = walk(single)
        require_equal(f"the order of install of {single['id']}", order, _order(single))
        require_equal(f"missing of {single['id']}", missing, single["missing"])
        require(all(mod["published"] for mod in single["install"]), f"install of {single['id']} has a draft.")


@check("C-READ-9")
def a_download_is_the_code_file(run: Run) -> None:
    """As an attachment, of its size, with the same bytes as at its own address."""
    file = run.code_file
    head = run.service.head(f"/api/modhub/{run.code_mod['id']}/download").expect(200)
    require_equal("Content-Length of the download", str(file["bytes"]), head.header("Content-Length"))
    require(head.header("Content-Disposition").startswith("attachment"), f"{head.call}: expected an attachment.")
    require_equal("ETag of the download", run.a_file.header("ETag"), head.header("ETag"))
    beginning = {"range": "bytes=0-99"}
    parts = [run.service.get(path, **beginning).expect(206, 200).body[:100] for path in (head.path, file["url"])]
    require_equal("the first bytes of the download", parts[1], parts[0])


@check("C-READ-11", added=True)
def a_link_header_names_the_files_with_their_digests(run: Run) -> None:
    """Code and css, in less than 4 KB."""
    single = read_single(run, run.code_mod)
    link = single.header("Link")
    require(len(link) < 4096, f"{single.call}: Link has {len(link)} bytes.")
    for kind in ("code", "css"):
        file = find_asset(run.code_mod, kind)
        if file:
            entry = f'<{file["url"]}>; rel="enclosure"; kind="{kind}"; sha256="{run.digest_of(run.code_mod, kind)}"'
            require(entry in link, f"{single.call}: expected {entry} in Link, came {link!r:.300}.")


@check("C-READ-10")
def curated_games_have_a_name_to_show(run: Run) -> None:
    """An icon is null or a picture of this service."""
    games = run.service.read("/api/modhub/games")
    require_equal("count of games", len(games["games"]), games["count"])
    for game in games["games"]:
        require(game["name"] and game["displayName"], f"a game has no name: {game}.")
        icon = game["iconUrl"]
        if icon is not None:
            require(icon.startswith("/Modhub/game-icon/"), f"iconUrl of {game['name']!r} is {icon!r}.")
            run.service.head(urljoin("/", icon)).expect(200)
