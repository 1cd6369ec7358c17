"""The id of the request that a thread handles: log lines and the audit trail name it."""

from contextvars import ContextVar
from typing import Final

REQUEST_ID: Final = "modhub.request_id"
"""The key of the WSGI environment; the same id for every attempt."""
current_request_id: Final[ContextVar[str]] = ContextVar("modhub request id", default="")
"""Empty outside of requests. A thread keeps it until its next request: it still has to send the body."""
