"""The limits of looking up, following and planning."""

from typing import Final

from modhub.content.limits import KB, MB

GUIDS_AT_ONCE: Final = 500
"""GUIDs of one lookup, entries of one update check, wanted mods of one plan."""
INSTALLED_AT_ONCE: Final = 5_000
"""Installed mods of one plan, and entries of one lock."""
LOOKUP_ANSWER: Final = 4 * MB
"""Bytes of the mods of one lookup; the others are in ``more``."""
QUESTION: Final = 256 * KB
"""Bytes of a lookup or an update check."""
PLAN_QUESTION: Final = MB
"""Bytes of a plan's question or of a lock."""
CHANGES: Final = 100
CHANGES_MOST: Final = 1000
"""Changes in one answer: unless the caller says otherwise, and at most."""
NOTES: Final = 5
"""Changelog entries of a changed mod."""
PATH_SHOWN: Final = 16
"""GUIDs of a path; of a longer one the first and last half of this are shown."""
CONFLICTS: Final = 100
"""Conflicts that a plan shows."""
SNAPSHOT: Final = 16 * 1024 * MB
"""Bytes of a snapshot."""
SNAPSHOT_PAGE: Final = 500
"""Mods that are read at once for a snapshot."""
