"""The events of the core: what has happened, told to whoever subscribes (``config.add_subscriber``)."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ApplicationStarted:
    """An application is about to be served; commands and tests that only configure one do not say so.

    Whoever runs something beside the requests starts it here.
    """

    registry: Any


@dataclass(frozen=True, slots=True)
class AccountDeleted:
    """An account is being deleted, in the transaction of ``session``: what it owned goes with it (C-ACC-18)."""

    account_id: int
    session: Any
    registry: Any


@dataclass(frozen=True, slots=True)
class AccountChanged:
    """Something has changed who may act for an account, in the request's own transaction: its owner is to be told.

    For features that give accounts keys and the like. ``subject`` and ``sentence`` are English texts of the feature's
    own translations; ``%(site)s`` in them is filled in. Whoever keeps accounts subscribes.
    """

    account_id: int
    subject: str
    sentence: str
    request: Any
