"""What happens to accounts and mods, for whoever watches over them: one JSON line each, with no secret in it."""

import json
import logging
from typing import Final

log: Final = logging.getLogger("modhub.security")


def log_event(event: str, **facts: int | str | None) -> None:
    """Write down ``event``; ``json`` escapes every control character."""
    if log.isEnabledFor(logging.INFO):
        log.info("%s", json.dumps({"event": event, **{name: fact for name, fact in facts.items() if fact is not None}}))
