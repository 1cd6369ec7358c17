"""A service that keeps its promises is green, and every check was tried."""

import pytest

from modhub_client.verify.parts import CHECKS
from modhub_client.verify.report import CheckState
from modhub_client.verify.run import Run
from modhub_client.verify.runner import run_checks

pytestmark = pytest.mark.long


def test_a_service_with_everything_is_green(run: Run) -> None:
    report = run_checks(run, [check for check in CHECKS if check.part in {"read", "follow"}], bool)
    untold = [(result.check.name, result.detail) for result in report.results if result.state is not CheckState.PASSED]
    assert untold == []
