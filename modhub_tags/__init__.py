"""Tags of mods, from a list that the operator keeps (modhub_tags/README.md)."""

from functools import partial

from pyramid.config import Configurator
from sqlalchemy import or_

from modhub.content.text import N_
from modhub.plugins.events import ModDetailsSaving, ModsDeleted
from modhub.plugins.resources import IMod
from modhub_tags import pages, services
from modhub_tags.limits import TAG_SETTINGS
from modhub_tags.models import ModTag
from modhub_tags.resources import TagsResource


def includeme(config: Configurator) -> None:
    """Register the subscriber, the addresses, the panels, the filter, the command and the views."""
    config.include("modhub")
    config.add_feature(
        "modhub_tags", N_("Tags"), settings=TAG_SETTINGS, migrations="tags_", demo="modhub_tags.demo.tag_samples"
    )
    registry = config.registry
    config.add_subscriber(services.delete_tags_of_mods, ModsDeleted)
    config.add_subscriber(pages.save_choice, ModDetailsSaving)
    config.add_child(IMod, "tags", TagsResource)
    left_out = registry.settings["modhub_tags.off_front"]
    config.add_mod_column(
        "tag",
        mod_id=ModTag.mod_id,
        value=ModTag.tag,
        filter=(pages.FILTER_TITLE, pages.NO_FILTER),
        labels=pages.filter_labels,
        off_front=or_(*(ModTag.tag == name for name in left_out)) if left_out else None,
    )
    config.add_mod_detail("tags", services.tags_of_mods)
    config.add_personal_data("tags", partial(services.collect_tags, config.registry))
    config.add_panel("mod", "tags", pages.tags_panel, order=10)
    config.add_panel("details", "tags", pages.choice_panel, order=20, fields=("tag", pages.SEEN))
    config.include("modhub_tags.commands")
    config.scan("modhub_tags.views")
