"""``modhub-admin mod hide|restore``: any number of mods in one transaction, undone by the number of its audit entry."""

import argparse
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import find_batch, record_batch
from modhub.base.service_registry import find_optional_service
from modhub.base.settings import StartRefused
from modhub.catalogue import moderation
from modhub.catalogue.models import Mod
from modhub.db import now
from modhub.plugins.services import ISnapshots

HIDDEN_TOGETHER: Final = "mods hidden"
"""The action of the entry for several mods."""


def describe_title(mod: Mod) -> str:
    """``Mod 12 (Calm HUD)``"""
    return f"Mod {mod.id} ({mod.title})"


def lock_named(session: Session, names: Sequence[str]) -> tuple[list[Mod], list[str]]:
    """The mods with these names, locked, in the order of the names; and a sentence for each name of no mod."""
    ids = moderation.find_mod_ids(session, names)
    mods = moderation.lock_mods(session, ids.values())
    named_ids = dict.fromkeys(ids[name] for name in names if name in ids)
    problems = [f"There is no mod {name}." for name in names if ids.get(name) not in mods]
    return [mods[mod_id] for mod_id in named_ids if mod_id in mods], problems


def run_hide(admin: Any, names: list[str], arguments: argparse.Namespace) -> int:
    """Hide mods, or change the reason of hidden ones; the exit code."""
    at = now()
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        mods, problems = lock_named(session, names)
        if arguments.owner is not None:
            owned = select(Mod.id).where(Mod.owner == arguments.owner, Mod.hidden_at.is_(None))
            mods += moderation.lock_mods(session, {*session.scalars(owned)} - {mod.id for mod in mods}).values()
        newly_hidden = {mod.id for mod in moderation.hide_mods(session, mods, arguments.reason, at)}
        is_batch = len(newly_hidden) > 1
        number = record_batch(session, HIDDEN_TOGETHER, at, mods=sorted(newly_hidden)) if is_batch else None
        lines = [_hidden_line(mod, mod.id in newly_hidden, arguments) for mod in mods]
    admin.say_outcome(lines, problems)
    if number is not None:
        admin.say(f"To undo all of it: mod restore --batch {number}")
    snapshots = find_optional_service(admin.registry, ISnapshots)
    if snapshots is not None and newly_hidden and not arguments.dry_run:
        snapshots.replace_hidden()
    return 1 if problems else 0


def _hidden_line(mod: Mod, is_new: bool, arguments: argparse.Namespace) -> str:
    reason = f" Reason: {mod.hidden_reason}" if mod.hidden_reason else ""
    state = "is already" if not is_new else "would be" if arguments.dry_run else "is now"
    return f"{describe_title(mod)} {state} hidden.{reason}"


def run_restore(admin: Any, names: list[str], arguments: argparse.Namespace) -> int:
    """Restore hidden mods, those of a batch that are hidden since it too; the exit code."""
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        (mods, problems), summary = lock_named(session, names), ""
        if arguments.batch is not None:
            batch = find_batch(session, arguments.batch)
            if batch is None or not batch.mods:
                raise StartRefused(f"entry {arguments.batch} of the audit trail is no batch of hidden mods")
            still_hidden = moderation.lock_hidden_at(session, batch.mods, batch.at)
            mods += [mod for mod in still_hidden if mod not in mods]
            summary = f"Of the {len(batch.mods)} mods of the batch, {len(still_hidden)} were still hidden by it."
        restored = {mod.id for mod in moderation.restore_mods(session, mods)}
        lines = [_restored_line(mod, mod.id in restored, arguments) for mod in mods]
        if summary:
            lines.append(summary)
    admin.say_outcome(lines, problems)
    return 1 if problems else 0


def _restored_line(mod: Mod, was_hidden: bool, arguments: argparse.Namespace) -> str:
    if not was_hidden:
        return f"{describe_title(mod)} is not hidden."
    be = "would be" if arguments.dry_run else "is"
    if mod.published:
        return f"{describe_title(mod)} {be} public again."
    return f"{describe_title(mod)} {be} hidden no longer; it is a draft, so only its owner sees it."
