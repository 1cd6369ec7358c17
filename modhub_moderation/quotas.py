"""Quotas: what one account may keep and send (C-QUO), counted in the transaction that stores."""

import math
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.renderers import render
from sqlalchemy import ColumnElement, Index, delete, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from modhub.base.errors import ApiError
from modhub.base.metrics import LIMITS_HIT
from modhub.base.security_log import log_event
from modhub.base.service_registry import find_service
from modhub.content.limits import MB
from modhub.content.text import N_
from modhub.db import Base, Databases, Id, Timestamp, now
from modhub.db.bulk import execute_bulk
from modhub.plugins.events import AccountDeleted
from modhub.plugins.moderation import IQuotas
from modhub.plugins.resources import IOwnMod
from modhub.plugins.services import IMods, IProfiles
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub_auth.rate_limits import lock_counters, rate_counter


class CountedUpload(Base):
    """A file that an account has stored within the last hour; only written while uploads have a limit."""

    __tablename__ = "moderation_counted_upload"
    __table_args__ = (Index("ix_moderation_counted_upload_account_id_at", "account_id", "at"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    account_id: Mapped[int] = mapped_column(Id)
    at: Mapped[datetime] = mapped_column(Timestamp, index=True)


UPLOAD_WINDOW: Final = timedelta(hours=1)
"""The sliding window in which uploads count."""


def lock_quota(session: Session, account_id: int) -> None:
    """Let what an account stores be counted one by one, until the transaction ends.

    It is always the last lock that a call takes of its own, so no two calls wait for each other.
    """
    lock_counters(session, [rate_counter("quota", str(account_id), 0)])


def _is_counted(account_id: int) -> tuple[ColumnElement[bool], ...]:
    return CountedUpload.account_id == account_id, CountedUpload.at > now() - UPLOAD_WINDOW


def count_uploads(session: Session, account_id: int) -> int:
    """How many files the account has uploaded within the last hour."""
    return session.scalar(select(func.count(CountedUpload.id)).where(*_is_counted(account_id))) or 0


def next_upload_at(session: Session, account_id: int, most: int) -> datetime | None:
    """When the account may upload again, if it has used up its ``most`` uploads an hour; None if it has not."""
    counted = select(CountedUpload.at).where(*_is_counted(account_id))
    blocking: datetime | None = session.scalar(counted.order_by(CountedUpload.at.desc()).offset(most - 1).limit(1))
    return None if blocking is None else blocking + UPLOAD_WINDOW


def count_upload(session: Session, account_id: int) -> None:
    """Count one upload, in the transaction that stores it."""
    session.add(CountedUpload(account_id=account_id, at=now()))
    session.flush()


TOO_MANY_MODS: Final = N_("Your account may have no further mod: it has %(used)s of %(limit)s.")
TOO_MANY_BYTES: Final = N_(
    "The files of your mods take up %(used)s of %(limit)s MB; there is no room for this one of %(size)s MB. "
    "Nothing was saved."
)
TOO_MANY_UPLOADS: Final = N_(
    "Your account has made its uploads of the last hour: %(limit)s of %(limit)s. Try again in %(minutes)s min."
)
TOO_MANY_MODS_TODAY: Final = N_(
    "Your account is new and has made its mods of the last day: %(limit)s of %(limit)s. Try again in %(hours)s h."
)
DAY: Final = timedelta(days=1)


class Quota(NamedTuple):
    """What an account may keep and send; None where there is no limit."""

    mods: int | None
    bytes: int | None
    uploads: int | None
    """Files within an hour."""
    mods_a_day: int | None
    new_until: datetime | None
    """Until when ``mods_a_day`` applies."""


class QuotaKeeper:
    """The quotas of one application (`IQuotas`). A publisher key counts as its account."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry

    def quota_of(self, account_id: int) -> Quota:
        """The limits of an account."""
        megabytes = self._limit("quota_megabytes")
        new_until = self._new_until(account_id)
        return Quota(
            self._limit("quota_mods"),
            megabytes and megabytes * MB,
            self._limit("quota_uploads"),
            self._limit("new_mods") if new_until else None,
            new_until,
        )

    def _limit(self, name: str) -> int | None:
        return self._registry.settings[f"modhub_moderation.{name}"] or None

    def _new_until(self, account_id: int) -> datetime | None:
        if not (self._limit("new_days") and self._limit("new_mods")):
            return None
        profile = find_service(self._registry, IProfiles).get_profiles({account_id}).get(account_id)
        days = timedelta(days=self._registry.settings["modhub_moderation.new_days"])
        until = None if profile is None else profile.since + days
        return until if until is not None and until > now() else None

    def refuse_upload(self, account_id: int) -> None:
        """Refuse a file before it is sent, if the account has used up its uploads."""
        most = self._limit("quota_uploads")
        if most is not None:
            with find_service(self._registry, Databases).readonly_session() as session:
                self.check_uploads(session, account_id, most)

    def take(self, session: Session, account_id: int, mod_id: int | None, size: int = 0, replaced: int = 0) -> None:
        """Refuse a mod or a file beyond the quota, and count the file, in its transaction."""
        if mod_id is None:
            self.check_mods(session, account_id)
        else:
            self.check_file(session, account_id, size, replaced)

    def check_mods(self, session: Session, account_id: int) -> None:
        """403 ``quota`` if the account may have no further mod, 429 ``quota`` if it is new and may have none today."""
        quota = self.quota_of(account_id)
        if quota.mods is None and quota.mods_a_day is None:
            return
        lock_quota(session, account_id)
        mods = find_service(self._registry, IMods)
        if quota.mods is not None and (used := mods.get_use(session, account_id).mods) >= quota.mods:
            values = {"used": used, "limit": quota.mods}
            raise self._refused(ApiError(403, "quota", TOO_MANY_MODS, values=values, limit=quota.mods, used=used))
        if quota.mods_a_day is not None:
            times = mods.get_creation_times(session, account_id, now() - DAY)
            if len(times) >= quota.mods_a_day:
                free_at = times[quota.mods_a_day - 1] + DAY
                raise self._refused(_too_early(TOO_MANY_MODS_TODAY, quota.mods_a_day, free_at))

    def check_file(self, session: Session, account_id: int, size: int, replaced: int) -> None:
        """413 if the file would take the account above its bytes, 429 ``quota`` after too many uploads within an hour.

        A file that is not larger than the one that it replaces is never refused for its bytes. The upload is counted.
        """
        quota = self.quota_of(account_id)
        if quota.bytes is not None or quota.uploads is not None:
            lock_quota(session, account_id)
        if quota.uploads is not None:
            self.check_uploads(session, account_id, quota.uploads)
            count_upload(session, account_id)
        if quota.bytes is not None and size > replaced:
            used = find_service(self._registry, IMods).get_use(session, account_id).bytes
            if used - replaced + size > quota.bytes:
                raise self._refused(_too_many_bytes(quota.bytes, used, size))

    def check_uploads(self, session: Session, account_id: int, most: int) -> None:
        """429 ``quota`` if the account has uploaded as many files within an hour as it may."""
        free_at = next_upload_at(session, account_id, most)
        if free_at is not None:
            raise self._refused(_too_early(TOO_MANY_UPLOADS, most, free_at))

    def _refused(self, error: ApiError) -> ApiError:
        log_event("quota reached", status=error.status)
        LIMITS_HIT.labels("quota").inc()
        return error


def _too_early(message: str, limit: int, free_at: datetime) -> ApiError:
    """429 with the time after which the account may go on."""
    seconds = max(1, math.ceil((free_at - now()).total_seconds()))
    values = {"limit": limit, "minutes": math.ceil(seconds / 60), "hours": math.ceil(seconds / 3600)}
    headers = {"Retry-After": str(seconds)}
    return ApiError(429, "quota", message, values=values, headers=headers, limit=limit, retryAfterSeconds=seconds)


def _too_many_bytes(limit: int, used: int, size: int) -> ApiError:
    """413 (C-TXT-7): ``limitBytes`` is what the account may keep, not the most that a file may have."""
    megabytes = {"used": math.ceil(used / MB), "limit": limit // MB, "size": math.ceil(size / MB)}
    return ApiError(413, "too_large", TOO_MANY_BYTES, values=megabytes, limitBytes=limit, usedBytes=used)


def forget_uploads(event: AccountDeleted) -> None:
    """A deleted account has no uploads."""
    execute_bulk(event.session, delete(CountedUpload).where(CountedUpload.account_id == event.account_id))


def purge_uploads(registry: Any) -> None:
    """The worker that deletes what counts no more."""
    with find_service(registry, Databases).write_session.begin() as session:
        execute_bulk(session, delete(CountedUpload).where(CountedUpload.at <= now() - UPLOAD_WINDOW))


def quota_panel(context: Any, request: Request) -> Markup | None:
    """Above an account's mods and the form of a new one; nothing for an account without limits."""
    keeper = QuotaKeeper(request.registry)
    if IOwnMod.providedBy(context):
        return None
    account_id: int = request.authenticated_userid
    quota = keeper.quota_of(account_id)
    if quota == (None, None, None, None, None):
        return None
    # The page of a refused form shows what is stored, not what was refused.
    with request.databases.readonly_session() as session:
        use = request.find_service(IMods).get_use(session, account_id)
        uploads = count_uploads(session, account_id) if quota.uploads is not None else 0
    day = "" if quota.new_until is None else translations_for(request).date(quota.new_until.date())
    values = {"quota": quota, "use": use, "uploads": uploads, "day": day}
    return Markup(render("modhub_moderation:templates/quotas/panel.jinja2", values, request=request))  # noqa: S704 - a template


def includeme(config: Configurator) -> None:
    """Register the service, the subscriber, the worker and the panel."""
    config.add_service(IQuotas, QuotaKeeper(config.registry))
    config.add_subscriber(forget_uploads, AccountDeleted)
    config.add_worker("upload counts", purge_uploads, every=3600, alone=True)
    config.add_panel("mine", "quotas", quota_panel)
