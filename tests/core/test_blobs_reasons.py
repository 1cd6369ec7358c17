"""What operators read about a file store that fails."""

import pytest

from modhub.base.errors import storage_refused, storage_unreachable
from modhub.blobs.operator_reasons import operator_sentence
from modhub.blobs.store import StoreTrouble


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (StoreTrouble("it does not answer"), " (it does not answer)"),
        (OSError(28, "No space left on device", "/secret/folder"), " (No space left on device)"),
        (ValueError("a detail of ours"), ""),
    ],
)
def test_the_cause_is_named_without_a_path(cause, reason):
    def failure(error):
        try:
            raise cause
        except Exception as caught:  # noqa: BLE001
            error.__context__ = caught
        return error

    kept = "; finished work is kept, run the command again"
    assert operator_sentence(failure(storage_refused())) == f"the file store cannot be written{reason}{kept}"
    assert operator_sentence(failure(storage_unreachable())) == f"the file store cannot be read{reason}{kept}"
