"""The sample mods and games of ``modhub-admin demo``: plausible and varied, but fictional."""

import io
import random
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_optional_service
from modhub.blobs import stage
from modhub.catalogue.bodies import ModChange, NewMod, NoteChange
from modhub.catalogue.commands import add_game
from modhub.catalogue.models import AssetKind, Game, Mod
from modhub.catalogue.owning import services, uploads, voting
from modhub.catalogue.owning.uploads import AssetUpload
from modhub.content import limits
from modhub.content.folding import fold_game
from modhub.plugins.services import IAccounts

SAMPLE_FILES: Final = Path(__file__).parent / "sample_files"
"""Game icons and screenshots with an overlay, drawn for the samples."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample mod.

    ``requires`` and ``conflicts`` are titles of other samples, ``releases`` are (version, changelog text) and
    ``images`` are file names in ``SAMPLE_FILES``.
    """

    title: str
    author: str
    description: str
    games: tuple[str, ...]
    releases: tuple[tuple[str, str], ...]
    kilobytes: int = 40
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    css: str = ""
    fans: tuple[str, ...] = ()
    critics: tuple[str, ...] = ()
    published: bool = True


MIRA, TOVE, ANSELM, JUNO = SAMPLE_AUTHORS = ("Mira Holt", "Tove K.", "Anselm", "Juno 64")
ABSENT: Final = "6f1d2c3b-4a59-4e68-8b7d-9c0e1f2a3b4c"
"""A GUID that no mod has, to show a missing requirement."""

SAMPLE_GAMES: Final = (
    ("Starfall Rally", "", "starfall-rally.svg"),
    ("Lantern Depths", "", "lantern-depths.svg"),
    ("moss and iron", "Moss & Iron", "moss-and-iron.svg"),
    ("Harbour Nine", "", "harbour-nine.svg"),
    ("Paper Comet", "", ""),
)
"""The curated games: name, the name that is shown instead, and a file name in ``SAMPLE_FILES``; each but the first may
be empty."""

SAMPLE_MODS: Final = (
    Sample(
        "Overlay Kit",
        MIRA,
        "<p>The building blocks that other overlays stand on: panels that snap to the edges of the picture, a clock "
        "that does not drift, and text that stays readable over any picture.</p><h2>For makers</h2><ul><li>Panels dock "
        "and stack and fade.</li><li>One file of settings, read again when it changes.</li><li>Nothing runs while the "
        "capture is paused.</li></ul><p>Other mods name it among their requirements; by itself it draws nothing.</p>",
        (),
        (
            ("1.0.0", "<p>First release.</p>"),
            ("1.1.0", "<p>Panels can be stacked.</p>"),
            ("1.2.1", "<ul><li>The clock no longer drifts at 59.94 Hz.</li><li>Smaller by a third.</li></ul>"),
        ),
        kilobytes=380,
        images=("overlay-kit.png",),
        css=".panel { border-radius: 4px; }\n",
        fans=(TOVE, ANSELM, JUNO),
    ),
    Sample(
        "Split Timer",
        TOVE,
        "<p>A speedrun timer in the corner of the picture. Splits on a button of the controller, shows the gap to your "
        "best run in <b>green</b> or <b>red</b>, and writes every run to a plain file.</p><h3>Controls</h3><table>"
        "<thead><tr><th>Button</th><th>Does</th></tr></thead><tbody><tr><td>L3</td><td>split</td></tr><tr><td>R3</td>"
        "<td>undo</td></tr><tr><td>both, held</td><td>reset</td></tr></tbody></table>",
        ("Starfall Rally", "Moss and Iron", "Lantern Depths", "Harbour Nine"),
        (("0.9", ""), ("1.0", "<p>Undo works across a pause.</p>")),
        kilobytes=96,
        requires=("Overlay Kit",),
        images=(
            "split-timer-1.png",
            "split-timer-2.png",
        ),
        fans=(MIRA, JUNO),
    ),
    Sample(
        "Ghost Racer",
        TOVE,
        "<p>Shows your best lap as a translucent line beside the track map.</p><p>Reads the split times, so the timer "
        "has to be there.</p>",
        ("Starfall Rally",),
        (("2.0", "<p>Two ghosts at once: yours and one that a friend sent you.</p>"),),
        kilobytes=210,
        requires=("Split Timer", "Telemetry Tap"),
        images=("ghost-racer.png",),
        fans=(ANSELM,),
    ),
    Sample(
        "Telemetry Tap",
        ANSELM,
        "<p>Gives speed, gear and lap to other overlays over a local socket. No picture of its own.</p><pre><code>"
        "speed 212\ngear 5\nlap 3/5</code></pre>",
        ("Starfall Rally",),
        (("2026-05", ""), ("2026-09", "<p>Lap numbers are right after a restart.</p>")),
        kilobytes=34,
        requires=("Overlay Kit",),
    ),
    Sample(
        "Quiet Health Bars",
        JUNO,
        "<p>Hides health bars while nothing happens and brings them back a moment before you need them.</p>",
        ("Lantern Depths", "Moss and Iron"),
        (("3", ""), ("4", ""), ("5", "<p>Works with the large-text setting.</p>")),
        kilobytes=58,
        conflicts=("Big Bold Bars",),
        images=("quiet-health-bars.png",),
        fans=(MIRA, TOVE),
        critics=(ANSELM,),
    ),
    Sample(
        "Big Bold Bars",
        MIRA,
        "<p>Health, stamina, light in bars as wide as the screen. For capture on small telephones, and for eyes "
        "like mine.</p>",
        ("Lantern Depths",),
        (("1.4", "<p>Colours for the three common kinds of colour blindness.</p>"),),
        kilobytes=61,
        requires=("Overlay Kit",),
        conflicts=("Quiet Health Bars",),
        images=("big-bold-bars.png",),
        fans=(JUNO,),
    ),
    Sample(
        "Minimal Chat",
        ANSELM,
        "<p>Chat in one line at the lower edge. Long messages scroll once and are gone.</p><blockquote>I forgot that "
        "it was there. That is praise.</blockquote>",
        (),
        (("1.0.0", ""),),
        kilobytes=27,
        requires=("Overlay Kit",),
        images=("minimal-chat.png",),
    ),
    Sample(
        "Foundry Map",
        JUNO,
        "<p>A map of every vein and furnace, opened with one button, drawn from what your save has discovered so far. "
        "It shows nothing that you have not seen.</p>",
        ("Moss and Iron",),
        (("0.3-beta", "<p>The northern bogs.</p>"), ("0.4-beta", "<p>Furnaces show their fuel.</p>")),
        kilobytes=1450,
        images=(
            "foundry-map-1.png",
            "foundry-map-2.png",
            "foundry-map-3.png",
        ),
        fans=(MIRA, ANSELM),
    ),
    Sample(
        "Tide Table",
        TOVE,
        "<p>The next two tides and how deep the channel will be, worked out from the game's own clock.</p>",
        ("Harbour Nine",),
        (("1.1", ""),),
        kilobytes=44,
        requires=("Overlay Kit", ABSENT),
        images=("tide-table.png",),
    ),
    Sample(
        "Dock Master's Ledger",
        MIRA,
        "<p>Counts cargo as it crosses the quay and keeps a ledger that you can read on the second screen.</p>"
        "<dl><dt>Crates</dt><dd>by colour and owner</dd><dt>Barrels</dt><dd>by weight</dd></dl>",
        ("Harbour Nine",),
        (("2.2.0", "<p>Ledger pages can be printed.</p>"),),
        kilobytes=132,
        requires=("Tide Table",),
        css="table { font-variant-numeric: tabular-nums; }\n",
    ),
    Sample(
        "Überblick – große Karte für alle",
        ANSELM,
        "<p>Eine Übersichtskarte mit großen, ruhigen Flächen. Deutsch und Englisch; wer Französisch ergänzen mag, "
        "schreibt mir.</p>",
        ("Paper Comet", "Kite Season"),
        (("1.0", "<p>Erste Fassung.</p>"),),
        kilobytes=75,
        images=("ueberblick.png",),
    ),
    Sample(
        "Kite Season Photo Frame",
        JUNO,
        "<p>Puts a paper frame and the date around a captured still.</p>",
        ("Kite Season",),
        (("7", ""),),
        kilobytes=18,
        critics=(TOVE,),
    ),
    Sample(
        "Frame Pacing Probe (work in progress)",
        MIRA,
        "<p>Not ready. Measures how evenly frames arrive.</p>",
        ("Starfall Rally",),
        (),
        requires=("Overlay Kit",),
        published=False,
    ),
)


FIRST_ACCOUNT = 900_000_001
"""The first account number of the sample authors if no feature provides accounts."""


def fill_demo(admin: Any) -> None:
    """Add the samples; existing ones are left unchanged."""
    _fill_games(admin)
    with admin.writing() as (session, _):
        owners = _owners(admin, session)
    guids = {ABSENT: ABSENT}
    for sample in SAMPLE_MODS:
        guids[sample.title] = _fill_mod(admin, sample, owners[sample.author])
    for sample in SAMPLE_MODS:
        _fill_relations(admin, sample, owners, guids)


def _owners(admin: Any, session: Session) -> dict[str, int]:
    accounts = find_optional_service(admin.registry, IAccounts)
    if accounts is None:
        return {name: FIRST_ACCOUNT + index for index, name in enumerate(SAMPLE_AUTHORS)}
    return {name: accounts.make_sample(session, name) for name in SAMPLE_AUTHORS}


def _fill_games(admin: Any) -> None:
    for name, display_name, icon in SAMPLE_GAMES:
        with admin.reading() as session:
            exists = session.scalar(select(Game.id).where(Game.folded == fold_game(name))) is not None
        if not exists:
            add_game(admin, name, display_name, SAMPLE_FILES / icon if icon else None)


def _fill_mod(admin: Any, sample: Sample, owner: int) -> str:
    """Create the sample unless its author has a mod with that title; return its GUID."""
    with admin.writing() as (session, manager):
        guid = session.scalar(select(Mod.guid).where(Mod.owner == owner, Mod.title == sample.title))
        if guid is not None:
            return str(guid)
        new_mod = NewMod(title=sample.title, description=sample.description, games=list(sample.games))
        mod = services.create_mod(session, owner, new_mod.cleaned())

        def upload(kind: AssetKind, content: bytes, name: str, content_type: str, version: str = "") -> None:
            blob = stage(manager, admin.store, io.BytesIO(content), uploads.LIMITS[kind])
            uploads.store_upload(session, mod.id, owner, AssetUpload(kind, name, content_type, blob, version))

        for version, note in sample.releases:
            name = f"{sample.title.split()[0].lower()}-{version}.zip"
            upload(AssetKind.CODE, _archive(sample, version), name, "application/zip", version)
            if note:
                services.describe_version(session, mod.id, version, owner, NoteChange(text=note).cleaned())
        for number, image in enumerate(sample.images, 1):
            upload(AssetKind.IMAGE, (SAMPLE_FILES / image).read_bytes(), f"picture-{number}.png", "image/png")
        if sample.css:
            upload(AssetKind.CSS, sample.css.encode(), "panel.css", "text/css")
        if sample.published:
            services.publish_mod(session, mod.id, owner)
        return mod.guid


def _archive(sample: Sample, version: str) -> bytes:
    """Return a zip file of the sample's size; always the same bytes."""
    archive = io.BytesIO()
    filler = random.Random(sample.title + version)  # noqa: S311 - filler, not a secret
    with zipfile.ZipFile(archive, "w") as files:
        readme = f"{sample.title} {version}\nA sample of modhub-admin demo.\n"
        files.writestr(zipfile.ZipInfo("README.txt"), readme)
        files.writestr(zipfile.ZipInfo("data.bin"), filler.randbytes(sample.kilobytes * limits.KB))
    return archive.getvalue()


def _fill_relations(admin: Any, sample: Sample, owners: dict[str, int], guids: dict[str, str]) -> None:
    """Set what refers to other samples, and the votes; setting them again changes nothing."""
    owner = owners[sample.author]
    with admin.writing() as (session, _):
        mod = session.scalars(select(Mod).where(Mod.guid == guids[sample.title])).one()
        conflicts = [guids[title] for title in sample.conflicts]
        requires = [guids[title] for title in sample.requires]
        change = ModChange(requires=requires, conflicts_with=conflicts).cleaned()
        services.edit_mod(session, mod.id, owner, change)
        for name in (*sample.fans, *sample.critics) if mod.published else ():
            voting.cast_vote(session, mod.id, owners[name], -1 if name in sample.critics else 1)
