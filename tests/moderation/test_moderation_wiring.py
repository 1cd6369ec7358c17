"""What holds of the feature as a whole."""

import pytest

from modhub.admin import migrate
from modhub_testing import Start

pytestmark = pytest.mark.postgres


def test_models_and_migrations_agree(start: Start) -> None:
    site = start("modhub_auth modhub_moderation")
    for package in site.declarations.migrations:
        assert migrate.schema_differences(site.databases, package) == []
