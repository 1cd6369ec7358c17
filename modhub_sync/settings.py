"""The settings of this feature."""

import re
from typing import Final

from modhub.base.settings import Setting
from modhub_sync.signing import signing_key


def hours(value: str) -> int:
    """A whole number of hours from 0 to 8784."""
    if not re.fullmatch(r"[0-9]{1,4}", value) or int(value) > 8784:
        raise ValueError(f"must be a whole number of hours from 0 to 8784, not {value!r}")
    return int(value)


SYNC_SETTINGS: Final = (
    Setting("modhub_sync.snapshot_hours", hours, "0", "hours between two snapshots of the server; 0: only by command"),
    Setting(
        "modhub_sync.signing_key",
        signing_key,
        "",
        "signs snapshots with Ed25519: 32 random bytes in base64; empty: they are not signed",
    ),
)
