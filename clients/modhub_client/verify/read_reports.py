"""Reports, as far as nobody has to read one: what is refused, and the form.

A report that is refused for one thing alone would be one if the service was broken. So these have no text either.
"""

import json
from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.replies import Reply, require
from modhub_client.verify.run import UNKNOWN_ID, Run

_ABSENT: Final = (f"/api/modhub/{UNKNOWN_ID}/reports", f"/api/modhub/authors/{UNKNOWN_ID}/reports")
_WHOLE: Final = {
    "ground": "other",
    "text": "modhub-verify tries whether an absent mod can be reported.",
    "goodFaith": True,
    "name": "modhub-verify",
    "email": "modhub-verify@example.org",
}
_NOTHING: Final[tuple[Any, ...]] = (
    {},
    [],
    {"ground": "other", "goodFaith": True},
    {"ground": "unheard-of", "text": "", "goodFaith": False},
    {"ground": "other", "text": 1, "goodFaith": "yes", "assetId": UNKNOWN_ID},
)
"""Reports without a text, and without name and address."""


def _send(run: Run, path: str, value: Any, **headers: str) -> Reply:
    sent = {"Content-Type": "application/json", **headers}
    return run.service.call("POST", path, json.dumps(value).encode(), sent)


@check("C-NTC-2", part="read", feature="modhub_moderation", added=True)
def what_is_absent_cannot_be_reported(run: Run) -> None:
    """404 whatever the body is."""
    for path in _ABSENT:
        for value in (_WHOLE, *_NOTHING):
            _send(run, path, value).expect_error(404, "not_found")
        run.service.call("POST", path, b"[not json", {"Content-Type": "application/json"}).expect_error(404)


@check("C-NTC-3", part="read", feature="modhub_moderation", added=True)
def a_report_that_says_nothing_is_400(run: Run) -> None:
    for value in _NOTHING:
        refused = _send(run, f"{run.mod_path}/reports", value).expect_error(400)
        require(refused.get("message"), f"{run.mod_path}/reports: the refusal has no sentence.")


@check("C-NTC-4", part="read", feature="modhub_moderation", added=True)
def a_bad_token_of_a_report_is_401(run: Run) -> None:
    """Before the report is read; an absent mod is no other than one that is there."""
    for path in (f"{run.mod_path}/reports", *_ABSENT):
        _send(run, path, {}, Authorization="Bearer nonsense").expect(401)
