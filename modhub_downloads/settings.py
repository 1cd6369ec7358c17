"""The settings of this feature."""

from typing import Final

from modhub.base.settings import Setting, positive

DOWNLOAD_SETTINGS: Final = (
    Setting("modhub_downloads.write_seconds", positive, "5", "seconds between two writes of counted downloads"),
    Setting(
        "modhub_downloads.waiting_most",
        positive,
        "20000",
        "downloads that a process keeps until they are written; further ones are not counted",
    ),
)
