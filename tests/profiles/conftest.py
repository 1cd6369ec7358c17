"""The core with accounts and the feature, on a fresh database of each kind."""

import io

import pytest
from PIL import Image

from modhub_testing import TEST_ACCOUNTS, Site, Start

FEATURES = f"{TEST_ACCOUNTS} modhub_profiles"


@pytest.fixture
def site(start: Start) -> Site:
    return start(FEATURES)


def image(color: str = "teal", size: tuple[int, int] = (400, 300)) -> bytes:
    """A PNG of one colour."""
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()
