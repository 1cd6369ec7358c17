"""Shared by the tests of accounts over real processes: page forms."""

import pytest

from modhub_testing.form_browser import Browser


@pytest.fixture(scope="session")
def browse():
    """``browse(caller)``: a browser without cookies."""
    return Browser
