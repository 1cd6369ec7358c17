"""The JSON of advisories. The fields are in the order of canonical JSON in the export."""

from typing import Annotated, Any

from msgspec import Struct

from modhub.base.operations import about
from modhub_moderation.advisories.limits import ADVICE, ADVISORY_REASON

_SHA256 = "9b6f0f6c3f0e8b6f4b4f4a1d7a5c3e2f1d0c9b8a7f6e5d4c3b2a190817263544"


class AdvisoryDocument(Struct, rename="camel"):
    """What is known of one file."""

    sha256: Annotated[str, about("SHA-256 of the file, in lower case", _SHA256)]
    kind: Annotated[str, about("`malware`, `vulnerable`, `illegal` or `other`", "malware")]
    reason: Annotated[
        str, about(f"What is known; at most {ADVISORY_REASON} characters of plain text", "It sends saved passwords.")
    ]
    advice: Annotated[
        str,
        about(f"What to do; at most {ADVICE} characters of plain text", "Delete the file and change your passwords."),
    ]
    since: Annotated[str, about("When it was made", "2026-11-26T08:15:30.123456Z")]
    withdrawn_at: Annotated[
        str | None, about("When it was withdrawn; `null` while it stands. A withdrawn one is no warning", None)
    ]


class AdvisoriesDocument(Struct):
    """``GET /api/modhub/advisories/{prefix}``"""

    advisories: Annotated[list[AdvisoryDocument], about("By digest, one for each file; empty if there is none")]


class AdvisoryExport(Struct, rename="camel"):
    """``GET /api/modhub/advisories``"""

    advisories: Annotated[list[AdvisoryDocument], about("All, by digest")]
    changed_at: Annotated[
        str | None,
        about(
            "The last change of any; `null` if there is none. An older copy is out of date",
            "2026-11-26T08:15:30.123456Z",
        ),
    ]
    signature: Annotated[
        str | None,
        about(
            "Ed25519 over the other two fields as JSON (names in alphabetical order, no spaces, UTF-8 without "
            "escapes), in base64; `null` without a key. The public key is that of the snapshots",
            None,
        ),
    ]


def in_canonical_order(document: AdvisoryDocument) -> dict[str, Any]:
    """The fields in the order of canonical JSON."""
    return {
        "advice": document.advice,
        "kind": document.kind,
        "reason": document.reason,
        "sha256": document.sha256,
        "since": document.since,
        "withdrawnAt": document.withdrawn_at,
    }
