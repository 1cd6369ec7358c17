"""What happens to accounts, for whoever watches over them: one JSON line each, with no secret and no address in it."""

import json
import logging
from typing import Final

log: Final = logging.getLogger("modhub.security")


def note(event: str, **facts: int | str | None) -> None:
    """Write down ``event``; ``json`` escapes every control character (threats D11)."""
    if log.isEnabledFor(logging.INFO):
        log.info("%s", json.dumps({"event": event, **{name: fact for name, fact in facts.items() if fact is not None}}))
