"""Digests: emails about new versions, each version once (modhub_following/README.md)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.content.limits import PAGE_SIZE_MOST
from modhub.content.markup import summarize
from modhub.db import Databases, bulk, shared_now
from modhub.plugins.services import IAccounts, IMods, IProfiles, IPublicMods, PublicNote
from modhub.plugins.workers import raise_if_stopping
from modhub.ui.i18n import Catalogs
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import DIGEST, EmailEntry, EmailText, Outbox
from modhub_following.models import Frequency, Reader
from modhub_following.read_service import FollowReader
from modhub_following.services import find_contact, leave_token

MAX_LISTED: Final = 30
"""Versions in one digest; the page has all."""
CHANGE: Final = 300
"""Characters of a version's changes in a digest."""
NOTES_READ: Final = 20
"""The newest changelog entries of a mod that are looked at."""
# What mail programs take for an address: authors' texts must not become links in our emails.
_LINK: Final = re.compile(r"(?<=[^\W\d])[.:/@\\]+(?=\w)|(?<=\w)[.:/@\\]+(?=[^\W\d])|\w+:/+|www\.", re.IGNORECASE)
# Dots of other scripts, and a dot beside anything but ASCII, such as an emoji: mail programs see host names there too.
_UNUSUAL_DOT: Final = re.compile(r"(?<=\S)[。．｡]+(?=\S)|(?<=[^\x00-\x7f\s])\.+(?=\S)|(?<=\S)\.+(?=[^\x00-\x7f\s])")


class NewVersion(NamedTuple):
    """A version that a digest lists."""

    mod_id: int
    title: str
    version: str
    author: str
    changes: str


def unlinked(text: str) -> str:
    """The text without anything that a mail program would show as a link."""
    return _LINK.sub(" ", _UNUSUAL_DOT.sub(r"\g<0> ", text))


def new_versions(session: Session, registry: Any, untold: Mapping[int, datetime], until: datetime) -> list[NewVersion]:
    """The versions of these mods since the moment of each and ``until``, as everybody can see them now, newest first.

    Neither those of hidden mods, nor those whose changelog entry is gone.
    """
    mods, public = find_service(registry, IMods), find_service(registry, IPublicMods)
    found: list[tuple[datetime, NewVersion]] = []
    for batch in bulk.batches(untold, PAGE_SIZE_MOST):
        visible = {key: mod for key, mod in mods.get_mods(session, batch).items() if mod.published}
        notes = public.get_notes(list(visible), NOTES_READ) if visible else {}
        names = find_service(registry, IProfiles).get_profiles({mod.owner for mod in visible.values()})
        for mod in visible.values():
            author = names[mod.owner].name if mod.owner in names else ""
            for moment, note in _announced(notes.get(mod.id, ()), mod.published_at):
                if untold[mod.id] < moment <= until:
                    changes = summarize(note.document.text, CHANGE)
                    found.append((moment, NewVersion(mod.id, mod.title, note.version, author, changes)))
    return [version for _, version in sorted(found, key=lambda pair: pair[0], reverse=True)]


def _announced(notes: Iterable[PublicNote], published_at: datetime | None) -> Iterator[tuple[datetime, PublicNote]]:
    """These entries, newest first, with the moments since which everybody can read of their versions.

    Of versions that are older than the publication only the newest was announced, by that.
    """
    for note in notes:
        moment = datetime.fromisoformat(note.document.created_at)
        if published_at is None or moment > published_at:
            yield moment, note
        else:
            yield published_at, note
            return


def compose_digest(
    registry: Any, outbox: Outbox, language: str, versions: Sequence[NewVersion], token: str
) -> EmailText:
    """The email. One address ends the digests, by a button or at once by a mail program (RFC 8058)."""
    base_url, site = registry.settings["modhub.base_url"], registry.settings["modhub.site_name"]
    messages = find_service(registry, Catalogs).choose(language)
    leave = f"{base_url}/Modhub/following/leave?token={token}"
    intro = messages.gettext("New versions at %(site)s of what you follow:", site=site)
    parts = [EmailEntry(lines=[intro]), *(_entry(messages, base_url, version) for version in versions[:MAX_LISTED])]
    more = len(versions) - MAX_LISTED
    if more > 0:
        line = messages.ngettext("and %(num)s more version", "and %(num)s more versions", more)
        parts.append(EmailEntry(lines=[line]))
    choose, end = messages.gettext("What you follow, and how often we email you:"), messages.gettext("Unsubscribe:")
    parts += [EmailEntry(lines=[choose], link=f"{base_url}/Modhub/following"), EmailEntry(lines=[end], link=leave)]
    headers = {"List-Unsubscribe": f"<{leave}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    count = len(versions)
    subject = messages.ngettext("%(num)s new version at %(site)s", "%(num)s new versions at %(site)s", count, site=site)
    return outbox.compose(messages.language, subject, parts, headers)


def _entry(messages: Any, base_url: str, version: NewVersion) -> EmailEntry:
    heading = unlinked(f"{version.title} {version.version}".rstrip())
    author = messages.gettext("by %(name)s", name=unlinked(version.author)) if version.author else ""
    lines = [line for line in (author, unlinked(version.changes)) if line]
    return EmailEntry(heading, lines, f"{base_url}/Modhub/{version.mod_id}")


PERIODS: Final = {Frequency.DAILY: timedelta(hours=23), Frequency.WEEKLY: timedelta(days=7, hours=-1)}
"""The least time between two digests: an hour less than it says, so that a timer at the same time of day fits."""
READER_BATCH: Final = 200
LOOK_SECONDS: Final = 300.0
SETTLED: Final = timedelta(minutes=10)
"""A digest has only versions that are this old: authors write what changed after they have uploaded. It is also longer
than a transaction takes that writes a version, and than the clocks of two hosts differ."""


def _is_due(time: datetime) -> Any:
    """Readers who have waited long enough; a time in the future is of a clock that was set back."""
    waited = (
        and_(Reader.frequency == frequency.value, Reader.sent_at <= time - period)
        for frequency, period in PERIODS.items()
    )
    return and_(Reader.frequency != Frequency.NONE.value, or_(Reader.sent_at.is_(None), Reader.sent_at > time, *waited))


def make_digests(registry: Any, settled: timedelta = timedelta(0)) -> Iterator[tuple[int, int]]:
    """Queue the digests that are due, of versions that are at least ``settled`` old. Safe in several processes.

    Yields the account and the number of versions of each that was queued.
    """
    begin, follows, last = (
        find_service(registry, Databases).write_session.begin,
        find_service(registry, FollowReader),
        0,
    )
    while True:
        with begin() as session:
            time = shared_now(session)
            due = select(Reader.account_id).where(_is_due(time), Reader.account_id > last)
            ids = session.scalars(due.order_by(Reader.account_id).limit(READER_BATCH)).all()
        for account_id in ids:
            raise_if_stopping(registry)
            # Most readers have nothing new: nothing is locked for them.
            if follows.find_untold(account_id):
                with begin() as session:
                    versions = _make_digest(session, registry, account_id, time, time - settled)
                if versions:
                    yield account_id, versions
        if not ids:
            return
        last = ids[-1]


def _make_digest(session: Session, registry: Any, account_id: int, time: datetime, until: datetime) -> int:
    """Queue the digest of one account and note until when it says all, in one transaction; the number of its versions.

    A version that is older than ``until`` is not written later: no transaction is as long as versions rest.
    """
    if not find_service(registry, IAccounts).lock(session, account_id):
        return 0
    chosen = select(Reader).where(Reader.account_id == account_id, _is_due(time)).with_for_update()
    reader = session.scalars(chosen).one_or_none()
    if reader is None:
        return 0
    # Read again: another process may have queued a digest before the lock was ours.
    untold = find_service(registry, FollowReader).find_untold(account_id)
    reader.told_until = max(until, reader.told_until or until)
    contact = find_contact(session, account_id)
    versions = new_versions(session, registry, untold, until) if contact else []
    if contact is not None and versions:
        token = leave_token(account_id, reader.random_id)
        outbox = find_service(registry, AuthServices).outbox
        outbox.queue(session, DIGEST, contact, compose_digest(registry, outbox, reader.language, versions, token))
        reader.sent_at = time
    session.flush()
    return len(versions)


def queue_digests(registry: Any) -> None:
    """The worker that queues the digests that are due, each whole or not at all; one process at a time."""
    for _ in make_digests(registry, SETTLED):
        pass
