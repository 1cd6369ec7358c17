"""Moderation: advisories about files, as overlays ask for them, and reports, as far as nobody has to read one.

A report that is refused for one thing alone would be one if the service was broken. So these have no text either.
"""

import base64
import re
from functools import partial
from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.outcomes import Broken, Skipped
from modhub_client.verify.replies import JSON_TYPE, Reply, require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run
from modhub_client.verify.shapes import DIGEST_SHAPE, TIME_SHAPE, require_shape

moderation_check = partial(check, feature="modhub_moderation", added=True)
_API: Final = "/api/modhub/advisories"
_PAGE: Final = "/Modhub/advisories"
_TEXT: Final = re.compile("(?s).{1,500}")
_ADVISORY: Final = {
    "sha256": DIGEST_SHAPE,
    "kind": re.compile("malware|vulnerable|illegal|other"),
    "reason": _TEXT,
    "advice": _TEXT,
    "since": TIME_SHAPE,
    "withdrawnAt": (TIME_SHAPE, None),
}
_NO_PREFIXES: Final = ("abcd", "abcdef", "abcdg", "a" * 64, "+1234", "12%2034", "%D9%A1" * 5)
"""Not five hexadecimal digits: too few, too many, others, those of another script."""
_SIGNATURE_BYTES: Final = 64
_NEWEST: Final = 100


def read_export(run: Run) -> dict[str, Any]:
    """All advisories."""
    return run.service.read(_API)


def _all(run: Run) -> list[dict[str, Any]]:
    advisories: list[dict[str, Any]] = read_export(run)["advisories"]
    if not advisories:
        raise Skipped("there is no advisory")
    return advisories


@moderation_check("C-ADV-1")
def an_advisory_says_what_is_known_of_one_file(run: Run) -> None:
    """Its kind, a reason and an advice of 1 to 500 characters, since when, and whether it was withdrawn."""
    require_shape("the advisories", [_ADVISORY], _all(run))


@moderation_check("C-ADV-2")
def advisories_are_found_by_the_first_five_digits(run: Run) -> None:
    """All that begin so, by digest, each file once; capitals or not, none is an empty list, and all else is 404."""
    everything = read_export(run)["advisories"]
    digests = [advisory["sha256"] for advisory in everything]
    require_equal("the order of the advisories", sorted(set(digests)), digests)
    known = {digest[:5] for digest in digests}
    free = next(prefix for prefix in map("{:05x}".format, range(0xABCDE, 1 << 20)) if prefix not in known)
    for prefix in (*sorted(known)[:20], free):
        expected = [advisory for advisory in everything if advisory["sha256"].startswith(prefix)]
        for asked in (prefix, prefix.upper()):
            require_equal(f"the advisories of {asked}", expected, run.service.read(f"{_API}/{asked}")["advisories"])
    for prefix in _NO_PREFIXES:
        run.service.get(f"{_API}/{prefix}").expect_error(404, "not_found")


@moderation_check("C-ADV-2")
def advisories_are_for_every_origin_and_need_no_credential(run: Run) -> None:
    """With an ``ETag``; a credential, even a bad one, changes nothing."""
    for path in (_API, f"{_API}/{_any_prefix(run)}", f"{_API}/zzzzz"):
        plain = run.service.get(path, origin="https://elsewhere.example")
        plain.expect_header("Access-Control-Allow-Origin", "*")
        with_token = run.service.get(path, authorization="Bearer nonsense").expect(plain.status)
        require_equal(f"the body of {path} with a bad token", plain.body, with_token.body)
        if plain.status == 200:
            _require_304(run, path, plain)


def _any_prefix(run: Run) -> str:
    advisories = read_export(run)["advisories"]
    return str(advisories[0]["sha256"][:5]) if advisories else "00000"


def _require_304(run: Run, path: str, plain: Reply) -> None:
    tag = plain.header("ETag")
    require(tag.startswith('"'), f"{path}: expected a strong ETag, came {tag!r}.")
    run.service.get(path, if_none_match=tag).expect(304)


@moderation_check("C-ADV-4")
def the_export_of_advisories_says_when_it_changed(run: Run) -> None:
    """The last of all times, null without any; the signature is 64 bytes in base64, or null without a key."""
    document = read_export(run)
    times = [advisory["withdrawnAt"] or advisory["since"] for advisory in document["advisories"]]
    require_equal("changedAt of the advisories", max(times, default=None), document["changedAt"])
    signature = document["signature"]
    if signature is not None:
        try:
            size = len(base64.b64decode(signature, validate=True))
        except ValueError:
            raise Broken(f"the signature of the advisories is no base64 but {signature!r:.100}.") from None
        require_equal("the bytes of the signature", _SIGNATURE_BYTES, size)


@moderation_check("C-ADV-5")
def the_newest_advisories_have_feeds(run: Run) -> None:
    """The hundred that were made or withdrawn last, in both."""
    advisories = read_export(run)["advisories"]
    newest = sorted(advisories, key=lambda advisory: advisory["withdrawnAt"] or advisory["since"], reverse=True)
    atom = run.service.get(f"{_PAGE}/feed").expect(200)
    require_equal(f"the type of {_PAGE}/feed", "application/atom+xml", atom.media_type)
    items = run.service.read(f"{_PAGE}/feed.json")["items"]
    require_equal(f"the number of items of {_PAGE}/feed.json", min(len(newest), _NEWEST), len(items))
    for advisory in newest[:_NEWEST]:
        digest = advisory["sha256"]
        require(digest in atom.text, f"{_PAGE}/feed: {digest} is missing.")
        require(any(digest in item["id"] for item in items), f"{_PAGE}/feed.json: {digest} is missing.")


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


@moderation_check("C-NTC-2")
def what_is_absent_cannot_be_reported(run: Run) -> None:
    """404 whatever the body is."""
    for path in _ABSENT:
        for value in (_WHOLE, *_NOTHING):
            run.service.call("POST", path, value).expect_error(404, "not_found")
        run.service.call("POST", path, body=b"[not json", headers=JSON_TYPE).expect_error(404)


@moderation_check("C-NTC-3")
def a_report_that_says_nothing_is_400(run: Run) -> None:
    for value in _NOTHING:
        refused = run.service.call("POST", f"{run.mod_path}/reports", value).expect_error(400)
        require(refused.get("message"), f"{run.mod_path}/reports: the refusal has no sentence.")


@moderation_check("C-NTC-4")
def a_bad_token_of_a_report_is_401(run: Run) -> None:
    """Before the report is read; an absent mod is no other than one that is there."""
    for path in (f"{run.mod_path}/reports", *_ABSENT):
        run.service.call("POST", path, {}, headers={"Authorization": "Bearer nonsense"}).expect(401)
