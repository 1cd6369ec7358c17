"""Tags of the samples of ``modhub-admin demo``. Safe to run again."""

from typing import Any, Final

from sqlalchemy import select

from modhub.base.service_registry import find_service
from modhub.plugins.services import IMods
from modhub_tags import services
from modhub_tags.models import ModTag, Tag

_FIRST_IDS: Final = range(1, 101)
"""Where the samples are: a demo begins with an empty database."""
_BY_TITLE: Final = {
    "Overlay Kit": ("library",),
    "Split Timer": ("hud", "timer"),
    "Ghost Racer": ("hud", "map", "tracker"),
    "Telemetry Tap": ("library", "tool"),
    "Quiet Health Bars": ("hud",),
    "Big Bold Bars": ("accessibility", "hud"),
    "Minimal Chat": ("chat", "hud"),
    "Foundry Map": ("map", "tracker"),
    "Tide Table": ("timer", "tool"),
    "Dock Master's Ledger": ("tracker",),
    "Überblick – große Karte für alle": ("accessibility", "language", "map"),
    "Kite Season Photo Frame": ("cosmetic",),
    "Frame Pacing Probe (work in progress)": ("tool",),
}


def tag_samples(admin: Any) -> None:
    """Tag the samples that have no tags, as far as the operator's list has these."""
    mods = find_service(admin.registry, IMods)
    with admin.writing() as (session, _):
        listed = set(session.scalars(select(Tag.name)))
        tagged = set(session.scalars(select(ModTag.mod_id)))
        for mod in mods.get_mods(session, _FIRST_IDS).values():
            names = listed.intersection(_BY_TITLE.get(mod.title, ()))
            if names and mod.id not in tagged:
                services.change_tags(session, mods, mod.id, mod.owner, names)
