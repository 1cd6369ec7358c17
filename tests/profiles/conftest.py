"""The core with accounts and the feature, on a fresh database of each kind."""

import io

import pytest
from PIL import Image

from modhub_testing import TEST_ACCOUNTS

FEATURES = f"{TEST_ACCOUNTS} modhub_profiles"


@pytest.fixture
def site(start):
    return start(FEATURES)


def image(color="teal", size=(400, 300)):
    """A PNG of one colour."""
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()
