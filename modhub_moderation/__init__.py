"""Moderation: notices, cases, decisions, appeals, advisories, scanning, quotas, a person's own data (README.md)."""

from pyramid.config import Configurator

PARTS_OF_MODERATION = (
    "moderators",
    "cases",
    "cases.queue",
    "notices",
    "transparency",
    "advisories",
    "scanning",
    "quotas",
    "personal_data",
)


def includeme(config: Configurator) -> None:
    """Register the feature and its parts."""
    config.include("modhub")
    config.add_feature("modhub_moderation", "Moderation", requires=("modhub_auth",))
    config.add_migrations("modhub_moderation", "modhub_moderation:migrations", "moderation_")
    config.add_translation_dirs("modhub_moderation:locale")
    for part in PARTS_OF_MODERATION:
        config.include(f"modhub_moderation.{part}")
