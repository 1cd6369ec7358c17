"""Moderation: notices, cases, decisions, appeals, advisories, scanning, quotas, a person's own data (README.md)."""

from pyramid.config import Configurator

from modhub.content.text import N_
from modhub_moderation.settings import MODERATION_SETTINGS

PARTS_OF_MODERATION = (
    "moderators",
    "cases",
    "notices",
    "advisories",
    "scanning",
    "quotas",
    "personal_data",
)


def includeme(config: Configurator) -> None:
    """Register the feature and its parts."""
    config.include("modhub")
    config.add_feature(
        "modhub_moderation",
        N_("Moderation"),
        requires=("modhub_auth",),
        settings=MODERATION_SETTINGS,
        migrations="moderation_",
    )
    for part in PARTS_OF_MODERATION:
        config.include(f"modhub_moderation.{part}")
