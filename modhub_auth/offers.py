"""Handing a mod over: its owner offers it, and the other account accepts within 14 days (C-OWN-50; T-C22).

Locks are taken in one order: accounts, the mod, its offer. An offer is closed once, whoever comes first.
"""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import ApiError, OwnershipLost, conflict, invalid, not_found
from modhub.content.text import N_
from modhub.db import bulk, now
from modhub.plugins.events import ModsDeleted
from modhub.plugins.services import IMods, ModSummary
from modhub.web.traversal import parse_id
from modhub_auth import email_addresses
from modhub_auth.models import BY_PASSWORD, Account, Login, Offer

OFFER_LIFE: Final = timedelta(days=14)
OFFERS_A_DAY: Final = 5
MAX_LISTED: Final = 100
"""Offers to one account that are listed, the newest: as many mods as can be looked up at once."""
_DAY: Final = timedelta(days=1)


class ReceivedOffer(NamedTuple):
    """An offer that its recipient can accept."""

    id: int
    mod: ModSummary
    owner_id: int
    owner_name: str
    expires_at: datetime


class ClosedOffer(NamedTuple):
    """An offer that was just answered or withdrawn: whom to tell, and about what."""

    owner_id: int
    recipient_id: int | None
    title: str


def offer_gone() -> ApiError:
    """410, the same for an offer that is closed or past its day, was never the caller's, or can no longer be met."""
    return ApiError(410, "offer_gone", N_("This offer no longer exists, or is not for your account."))


def is_open() -> tuple[ColumnElement[bool], ...]:
    """The condition of offers that can be answered."""
    return Offer.closed_at.is_(None), Offer.expires_at > now()


def find_recipient(session: Session, named: str) -> int | None:
    """The account with this number or confirmed address, None if there is none; 400 for what is neither."""
    address, number = email_addresses.parse_address(named), parse_id(named)
    if address is None and number is None:
        message = "The field %(field)s must be an email address or the number of an account."
        raise invalid(message, field="account")
    if address is None:
        return session.scalar(select(Account.id).where(Account.id == number))
    return session.scalar(select(Login.account_id).where(Login.subject == address, Login.verified, *BY_PASSWORD))


def make_offer(session: Session, mods: IMods, owner_id: int, mod_id: int | None, named: str) -> ClosedOffer:
    """Offer a published mod of a locked account to whoever ``named`` is; the same if that is nobody."""
    mod = mods.lock_own(session, mod_id, owner_id)
    recipient_id, time = find_recipient(session, named), now()
    if not mod.published:
        raise not_found()
    if recipient_id == owner_id:
        raise conflict("own_account", N_("This is your own account. Name another one."))
    if find_open(session, mod.id) is not None:
        raise conflict("already_offered", N_("This mod is offered already. Withdraw that offer first."))
    made = select(Offer.created_at).where(Offer.owner_id == owner_id, Offer.created_at > time - _DAY)
    fifth = session.scalar(made.order_by(Offer.created_at.desc()).offset(OFFERS_A_DAY - 1).limit(1))
    if fifth is not None:
        wait = max(1, int((fifth + _DAY - time).total_seconds()))
        message = N_("You have made five offers within a day. Make the next one tomorrow.")
        raise ApiError(429, "too_many_offers", message, headers={"Retry-After": str(wait)})
    offer = Offer(mod_id=mod.id, owner_id=owner_id, named=named, recipient_id=recipient_id, created_at=time)
    offer.expires_at = time + OFFER_LIFE
    session.add(offer)
    session.flush()
    record(session, "mod offered", "mod", mod.id, offer=offer.id, to=recipient_id)
    return ClosedOffer(owner_id, recipient_id, mod.title)


def find_open(session: Session, mod_id: int) -> Offer | None:
    """The open offer of a mod; None without one."""
    return session.scalars(select(Offer).where(Offer.mod_id == mod_id, *is_open())).one_or_none()


def find_received(
    session: Session, mods: IMods, account_id: int, offer_id: int | None = None
) -> dict[int, ReceivedOffer]:
    """The offers that the account can accept, or the one of this number, by number and newest first."""
    columns = (Offer.id, Offer.mod_id, Offer.owner_id, Account.display_name, Offer.expires_at)
    offers = select(*columns).join(Account, Account.id == Offer.owner_id)
    offers = offers.where(Offer.recipient_id == account_id, Account.blocked_at.is_(None), *is_open())
    if offer_id is not None:
        offers = offers.where(Offer.id == offer_id)
    rows = session.execute(offers.order_by(Offer.id.desc()).limit(MAX_LISTED)).all()
    summaries = mods.get_mods(session, {row.mod_id for row in rows}) if rows else {}
    return {
        row.id: ReceivedOffer(row.id, mod, row.owner_id, row.display_name, row.expires_at)
        for row in rows
        if (mod := summaries.get(row.mod_id)) is not None and mod.published and mod.owner == row.owner_id
    }


def find_offer(session: Session, mods: IMods, account_id: int, offer_id: int | None) -> ReceivedOffer:
    """The offer of this number, if the account can accept it; else 410."""
    offer = find_received(session, mods, account_id, offer_id or 0).get(offer_id or 0)
    if offer is None:
        raise offer_gone()
    return offer


def accept_offer(session: Session, mods: IMods, offer: ReceivedOffer, account_id: int) -> ClosedOffer:
    """Make the mod the recipient's; both accounts are locked. 410 if it is too late."""
    try:
        mod = mods.lock_own(session, offer.mod.id, offer.owner_id)
    except (OwnershipLost, ApiError):
        raise offer_gone() from None
    if not mod.published:
        raise offer_gone()
    _close(session, offer.id)
    mods.hand_over(session, mod.id, account_id)
    return ClosedOffer(offer.owner_id, account_id, mod.title)


def decline_offer(session: Session, offer: ReceivedOffer, account_id: int) -> ClosedOffer:
    """Leave the mod its owner's; 410 if it is too late."""
    _close(session, offer.id)
    record(session, "mod offer declined", "mod", offer.mod.id, offer=offer.id)
    return ClosedOffer(offer.owner_id, account_id, offer.mod.title)


def withdraw_offer(session: Session, mods: IMods, owner_id: int, mod_id: int | None) -> ClosedOffer:
    """Withdraw the offer of a mod of a locked account; 410 without one."""
    mod = mods.lock_own(session, mod_id, owner_id)
    offer = find_open(session, mod.id)
    if offer is None:
        raise offer_gone()
    _close(session, offer.id)
    record(session, "mod offer withdrawn", "mod", mod.id, offer=offer.id)
    return ClosedOffer(owner_id, offer.recipient_id, mod.title)


def _close(session: Session, offer_id: int) -> None:
    closed = update(Offer).where(Offer.id == offer_id, *is_open()).values(closed_at=now())
    if bulk.execute_bulk(session, closed) != 1:
        raise offer_gone()


def delete_offers_of_mods(event: ModsDeleted) -> None:
    """Deleted mods are offered no more."""
    bulk.execute_bulk(event.session, delete(Offer).where(Offer.mod_id.in_(event.mod_ids)))
