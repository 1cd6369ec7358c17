"""The security log, for monitoring: one JSON line for each action that is recorded (:mod:`modhub.audit`) and for each
refusal, without secrets."""

import json
import logging
from typing import Final

log: Final = logging.getLogger("modhub.security")


def log_event(event: str, **facts: int | str | None) -> None:
    """Log ``event``; ``json`` escapes every control character."""
    if log.isEnabledFor(logging.INFO):
        log.info(
            "%s", json.dumps({"event": event, **{name: value for name, value in facts.items() if value is not None}})
        )
