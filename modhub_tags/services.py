"""Changes to the tags of mods, and to the operator's list. The session comes first.

A change of a mod's tags has the row of the mod, then shares those of the chosen tags; a change of the list has the row
of its tag alone. So a tag that is being removed is refused, or leaves this mod too.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import invalid
from modhub.base.service_registry import find_service
from modhub.content import text
from modhub.db.bulk import batches
from modhub.db.changes import What, mark_changed
from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData
from modhub.plugins.events import ModsDeleted
from modhub.plugins.services import IMods
from modhub_tags.limits import MOST, TAG_NAME, is_tag_name
from modhub_tags.models import ModTag, Tag

TAGS: Final = "tags"
"""Of the serial alone: kept answers end, and no feed has an entry (C-TAG-3)."""


def tags_of_mods(session: Session, mod_ids: Collection[int]) -> dict[int, list[str]]:
    """The tags of each of these mods, by name."""
    tags: dict[int, list[str]] = {mod_id: [] for mod_id in mod_ids}
    for mod_id, tag in session.execute(select(ModTag.mod_id, ModTag.tag).where(ModTag.mod_id.in_(mod_ids))):
        tags[mod_id].append(tag)
    return {mod_id: sorted(names) for mod_id, names in tags.items()}


def change_tags(session: Session, mods: IMods, mod_id: int | None, owner: int, names: Iterable[str]) -> list[str]:
    """Give the owner's mod these tags and no others; return them by name (C-TAG-3).

    400 for more than five, and for a name that is not in the list; :class:`OwnershipLost` if the mod was deleted.
    """
    chosen = sorted(set(names))
    if len(chosen) > MOST:
        raise invalid("A mod can have at most %(most)s tags.", most=MOST)
    mod = mods.lock_own(session, mod_id, owner)
    listed = _share_listed(session, [name for name in chosen if is_tag_name(name)])
    unknown = [name for name in chosen if name not in listed]
    if unknown:
        raise invalid("“%(tag)s” is not in the list of tags.", tag=text.line(unknown[0], TAG_NAME))
    before = session.scalars(select(ModTag.tag).where(ModTag.mod_id == mod.id).order_by(ModTag.tag)).all()
    if before == chosen:
        return chosen
    session.execute(delete(ModTag).where(ModTag.mod_id == mod.id))
    if chosen:
        session.execute(insert(ModTag), [{"mod_id": mod.id, "tag": name} for name in chosen])
    record(session, "tags changed", "mod", mod.id, tags=" ".join(chosen))
    if mod.published:
        mark_changed(session, TAGS, What.EDITED)
    return chosen


def _share_listed(session: Session, names: Sequence[str]) -> set[str]:
    """Those of the names that are in the list, which stay there until the transaction ends."""
    return set(session.scalars(select(Tag.name).where(Tag.name.in_(names)).with_for_update(read=True)))


def lock_tag(session: Session, name: str) -> Tag | None:
    """A tag of the list, locked until the transaction ends."""
    return session.scalars(select(Tag).where(Tag.name == name).with_for_update()).one_or_none()


def put_tag(session: Session, name: str, en: str, de: str) -> bool:
    """Add a tag to the list, or change its titles; whether it is new."""
    tag = lock_tag(session, name)
    if tag is None:
        session.add(Tag(name=name, title_en=en, title_de=de))
    else:
        tag.title_en, tag.title_de = en, de
    record(session, "tag titled" if tag else "tag added", "tag", name)
    mark_changed(session, TAGS, What.EDITED)
    return tag is None


def remove_tag(session: Session, name: str) -> int | None:
    """Remove a tag from the list and from all mods; how many had it, None if there is no such tag."""
    tag = lock_tag(session, name)
    if tag is None:
        return None
    mods = session.scalar(select(func.count()).select_from(ModTag).where(ModTag.tag == name)) or 0
    session.execute(delete(ModTag).where(ModTag.tag == name))
    session.delete(tag)
    record(session, "tag removed", "tag", name, mods=mods)
    mark_changed(session, TAGS, What.EDITED)
    return mods


def collect_tags(registry: Any, session: Session, account_id: int) -> AccountData | None:
    """The tags that the account gave its mods."""
    mods = [mod.id for mod, _ in find_service(registry, IMods).get_mods_of_account(session, account_id)]
    tags = select(ModTag.mod_id, ModTag.tag).order_by(ModTag.mod_id, ModTag.tag)
    documents = [
        document for batch in batches(mods) for document in row_documents(session, tags.where(ModTag.mod_id.in_(batch)))
    ]
    return AccountData(documents) if documents else None


def delete_tags_of_mods(event: ModsDeleted) -> None:
    """Delete the tags in the transaction of the mods."""
    event.session.execute(delete(ModTag).where(ModTag.mod_id.in_(event.mod_ids)))
