"""What the service warns of. It is asked by the first digits of a SHA-256, so that it does not learn what is here."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from modhub_client.get.answers import StandingAdvisory, decode_advisories
from modhub_client.get.service import ModhubService

ASKED_DIGITS: Final = 5
"""Digits that a question has."""
QUESTIONS: Final = 32
"""Questions at most: instead of more, all advisories are read."""
_PATH: Final = "/api/modhub/advisories"


def ask_advisories(service: ModhubService, digests: Iterable[str]) -> dict[str, StandingAdvisory]:
    """The advisories about files with these digests; none from a service that has no advisories."""
    asked = set(digests)
    prefixes = sorted({digest[:ASKED_DIGITS] for digest in asked})
    paths = [f"{_PATH}/{prefix}" for prefix in prefixes] if len(prefixes) <= QUESTIONS else [_PATH]
    known: dict[str, StandingAdvisory] = {}
    for path in paths:
        advisories = service.find(path, decode_advisories)
        if advisories is None:
            break
        known |= {advisory.sha256: advisory for advisory in advisories if advisory.sha256 in asked}
    return known


def describe_advisory(guid: str, advisory: StandingAdvisory) -> dict[str, Any]:
    """The advisory about the file of a mod as a JSON object."""
    return {"guid": guid, **asdict(advisory)}
