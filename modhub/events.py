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


@dataclass(frozen=True, slots=True)
class ModPublished:
    """The owner has published a mod, and everybody sees it, in the transaction of ``session``.

    It is fired once in the life of a mod. A mod that is hidden while its owner publishes it fires
    :class:`ModChanged` instead, so a subscriber that announces new mods never announces a hidden one.
    """

    mod_id: int
    session: Any
    registry: Any


@dataclass(frozen=True, slots=True)
class ModChanged:
    """A mod, published or not, has changed, in the transaction of ``session``: its fields, files or changelog.

    An operator who hides or restores a mod changes it too. Votes do not. It can be fired more than once in one
    transaction. Ask :class:`modhub.interfaces.IMods` what the mod is now.
    """

    mod_id: int
    session: Any
    registry: Any


@dataclass(frozen=True, slots=True)
class ModsDeleted:
    """Mods are being deleted, in the transaction of ``session``: what hangs on them goes with them (C-OWN-11).

    By their owner, by an operator, or with their owner's account. The mods are still there and locked. There are at
    most :data:`modhub.bulk.BATCH` of them; a larger deletion fires the event more than once.
    """

    mod_ids: tuple[int, ...]
    session: Any
    registry: Any
