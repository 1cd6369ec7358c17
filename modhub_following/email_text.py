"""What a digest says: the versions that can be seen, in the reader's language."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.content.limits import PAGE_SIZE_MOST
from modhub.content.markup import summarize
from modhub.db import bulk
from modhub.plugins.services import IMods, IProfiles, IPublicMods, PublicNote
from modhub.ui.i18n import Catalogs
from modhub_auth.mail.outbox import EmailEntry, EmailText, Outbox

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
