"""After a restore: nobody is signed in, and no email leaves by itself (`DatabaseRestored`)."""

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.db import bulk, now
from modhub.plugins.events import DatabaseRestored
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import Outbox
from modhub_auth.models import HELD, ClientSession, OutgoingEmail, PageSession, ResetRequest


def end_sessions_and_hold_emails(event: DatabaseRestored) -> None:
    """A session may have been ended since the backup, and an email may have been sent."""
    session = event.session
    ended = sum(bulk.execute_bulk(session, delete(kind)) for kind in (ClientSession, PageSession))
    # They would become emails. Who still waits asks again.
    session.execute(delete(ResetRequest))
    new_base_url = event.registry.settings["modhub.base_url"]
    if event.previous_base_url != new_base_url:
        _move_links(session, find_service(event.registry, AuthServices).outbox, event.previous_base_url, new_base_url)
    waiting = update(OutgoingEmail).where(OutgoingEmail.finished_at.is_(None))
    held = bulk.execute_bulk(session, waiting.values(finished_at=now(), problem=HELD))
    event.notes.append(f"All sessions are ended ({ended}): everybody signs in again.")
    if held:
        event.notes.append(f"{held} waiting emails are held: letters list shows them, letters retry sends them.")


def _move_links(session: Session, outbox: Outbox, old: str, new: str) -> None:
    """Make the links of emails that can still be sent lead to this installation."""
    columns = select(OutgoingEmail.id, OutgoingEmail.sealed, OutgoingEmail.message_id).limit(bulk.BATCH)
    unsent = columns.where(OutgoingEmail.sealed.is_not(None)).order_by(OutgoingEmail.id)
    last = 0
    while batch := session.execute(unsent.where(OutgoingEmail.id > last)).all():
        for email_id, sealed, message_id in batch:
            moved = outbox.with_base_url(sealed or "", message_id, old, new)
            if moved is not None:
                bulk.execute_bulk(
                    session, update(OutgoingEmail).where(OutgoingEmail.id == email_id).values(sealed=moved)
                )
        last = batch[-1].id
