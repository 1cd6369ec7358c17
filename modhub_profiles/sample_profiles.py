"""What ``modhub-admin demo`` says of its authors and mods; not loaded by the service."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sqlalchemy.orm import Session

from modhub.base.service_registry import find_optional_service
from modhub.blobs import stage
from modhub.content.limits import PAGE_SIZE_MOST
from modhub.plugins.services import IMods, IProfiles, ISquarePictures
from modhub_profiles import limits, services
from modhub_profiles.models import AuthorProfile

SAMPLE_PICTURES: Final = Path(__file__).parent / "demo"
SAMPLE_LINKS: Final[Mapping[str, Mapping[str, str]]] = {
    "Overlay Kit": {
        "source": "https://code.example.org/mira/overlay-kit",
        "report": "https://code.example.org/mira/overlay-kit/issues",
        "community": "https://chat.example.org/overlay-kit",
        "license": "MIT",
    },
    "Split Timer": {"source": "https://code.example.org/mira/split-timer", "license": "GPL-3.0-or-later"},
    "Minimal Chat": {"license": "other: Use it in streams as you like; ask me before you change it."},
}
"""By the titles of sample mods."""
SAMPLE_PROFILES: Final = {
    "Mira Holt": (
        "I build overlays for runners, and I answer on weekends.",
        ("https://mira.example.org", "https://code.example.org/mira"),
        "mira.png",
    ),
    "Tove K.": ("Maps, and nothing but maps.", ("https://tove.example.org/maps",), ""),
}
"""The sentence, the links and the picture of sample authors by name."""


def fill_demo_profiles(admin: Any) -> None:
    """Add what the samples say, unless it is there."""
    with admin.writing() as (session, manager):
        mods = admin.find_service(IMods).get_mods(session, range(1, PAGE_SIZE_MOST + 1))
        for mod in mods.values():
            if mod.title in SAMPLE_LINKS:
                services.change_links(session, admin.find_service(IMods), mod.id, mod.owner, SAMPLE_LINKS[mod.title])
        profiles = find_optional_service(admin.registry, IProfiles)
        owners = {mod.owner for mod in mods.values()}
        for account_id, profile in (profiles.get_profiles(owners) if profiles is not None else {}).items():
            if profile.name in SAMPLE_PROFILES:
                _fill_profile(admin, session, manager, account_id, profile.name)


def _fill_profile(admin: Any, session: Session, manager: Any, account_id: int, name: str) -> None:
    sentence, links, picture = SAMPLE_PROFILES[name]
    services.change_profile(session, account_id, sentence, links)
    stored = session.get_one(AuthorProfile, account_id)
    if picture and stored.picture_id is None:
        made = admin.find_service(ISquarePictures).make(io.BytesIO((SAMPLE_PICTURES / picture).read_bytes()))
        blob = stage(manager, admin.store, io.BytesIO(made), limits.PICTURE)
        services.change_picture(session, account_id, blob)
