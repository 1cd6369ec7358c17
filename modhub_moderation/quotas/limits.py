"""Which limits an account has, and the refusals of what goes beyond them."""

import math
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy.orm import Session

from modhub.base.errors import ApiError
from modhub.base.metrics import EventCounter
from modhub.base.security_log import log_event
from modhub.base.service_registry import find_service
from modhub.content.limits import MB
from modhub.content.text import N_
from modhub.db import now
from modhub.interfaces import IMods, IProfiles
from modhub_moderation.quotas import services

TOO_MANY_MODS: Final = N_("Your account may have no further mod: it has %(used)s of %(limit)s.")
TOO_MANY_BYTES: Final = N_(
    "The files of your mods take up %(used)s of %(limit)s MB; there is no room for this one of %(size)s MB. "
    "Nothing was saved."
)
TOO_MANY_UPLOADS: Final = N_(
    "Your account has made its uploads of the last hour: %(limit)s of %(limit)s. Try again in %(minutes)s min."
)


class Quota(NamedTuple):
    """What an account may keep and send; None where there is no limit."""

    mods: int | None
    bytes: int | None
    uploads: int | None
    """Files within an hour."""
    new_until: datetime | None
    """Until when the account is new, if its limits are lower until then."""


class QuotaKeeper:
    """The quotas of one application. A publisher key counts as its account."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry
        self.refusals = EventCounter("quota")

    @property
    def has_limits(self) -> bool:
        """Whether any account may have a limit."""
        settings = self._registry.settings
        names = ("mods", "megabytes", "uploads")
        is_new = bool(settings["modhub_moderation.new_days"])
        return any(
            settings[f"modhub_moderation.quota_{name}"] or (is_new and settings[f"modhub_moderation.new_quota_{name}"])
            for name in names
        )

    def quota_of(self, account_id: int) -> Quota:
        """The limits of an account: of two that apply the lower one."""
        settings = self._registry.settings
        new_until = self._new_until(account_id)
        names = ("mods", "megabytes", "uploads")
        usual = [settings[f"modhub_moderation.quota_{name}"] for name in names]
        when_new = [settings[f"modhub_moderation.new_quota_{name}"] if new_until else 0 for name in names]
        mods, megabytes, uploads = (
            min((limit for limit in limits if limit), default=None) for limits in zip(usual, when_new, strict=True)
        )
        is_lower = [mods, megabytes, uploads] != [limit or None for limit in usual]
        return Quota(mods, megabytes and megabytes * MB, uploads, new_until if is_lower else None)

    def _new_until(self, account_id: int) -> datetime | None:
        days = self._registry.settings["modhub_moderation.new_days"]
        if not days:
            return None
        profile = find_service(self._registry, IProfiles).get_profiles({account_id}).get(account_id)
        until = None if profile is None else profile.since + timedelta(days=days)
        return until if until is not None and until > now() else None

    def check_mods(self, session: Session, account_id: int) -> None:
        """403 ``quota`` if the account may have no further mod."""
        limit = self.quota_of(account_id).mods
        if limit is None:
            return
        services.lock_quota(session, account_id)
        used = find_service(self._registry, IMods).get_use(session, account_id).mods
        if used >= limit:
            raise self._refused(
                ApiError(403, "quota", TOO_MANY_MODS, values={"used": used, "limit": limit}, limit=limit, used=used)
            )

    def check_file(self, session: Session, account_id: int, size: int, replaced: int) -> None:
        """413 if the file would take the account above its bytes, 429 ``quota`` after too many uploads within an hour.

        A file that is not larger than the one that it replaces is never refused for its bytes. The upload is counted.
        """
        quota = self.quota_of(account_id)
        if quota.bytes is not None or quota.uploads is not None:
            services.lock_quota(session, account_id)
        if quota.uploads is not None:
            self.check_uploads(session, account_id, quota.uploads)
            services.count_upload(session, account_id)
        if quota.bytes is not None and size > replaced:
            used = find_service(self._registry, IMods).get_use(session, account_id).bytes
            if used - replaced + size > quota.bytes:
                raise self._refused(_too_many_bytes(quota.bytes, used, size))

    def check_uploads(self, session: Session, account_id: int, most: int) -> None:
        """429 ``quota`` if the account has uploaded as many files within an hour as it may."""
        free_at = services.next_upload_at(session, account_id, most)
        if free_at is None:
            return
        seconds = max(1, math.ceil((free_at - now()).total_seconds()))
        values = {"limit": most, "minutes": math.ceil(seconds / 60)}
        headers = {"Retry-After": str(seconds)}
        extra = {"limit": most, "retryAfterSeconds": seconds}
        raise self._refused(ApiError(429, "quota", TOO_MANY_UPLOADS, values=values, headers=headers, **extra))

    def _refused(self, error: ApiError) -> ApiError:
        log_event("quota reached", status=error.status)
        self.refusals.add("quota")
        return error


def _too_many_bytes(limit: int, used: int, size: int) -> ApiError:
    """413 (C-TXT-7): ``limitBytes`` is what the account may keep, not the most that a file may have."""
    megabytes = {"used": math.ceil(used / MB), "limit": limit // MB, "size": math.ceil(size / MB)}
    return ApiError(413, "too_large", TOO_MANY_BYTES, values=megabytes, limitBytes=limit, usedBytes=used)
