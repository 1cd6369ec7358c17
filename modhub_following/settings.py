"""The settings of this feature."""

from typing import Final

from modhub.base.settings import Setting, boolean, positive

FOLLOWING_SETTINGS: Final = (
    Setting("modhub_following.most", positive, "1000", "mods, games and authors that one account may follow"),
    Setting(
        "modhub_following.digests",
        boolean,
        "true",
        "whether the service sends digests by itself; otherwise modhub-admin following digest does",
    ),
)
