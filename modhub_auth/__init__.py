"""modhub_auth: accounts, sign-in and tokens."""

import logging
from typing import Any

from pyramid.config import Configurator
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from modhub.base.identity import CredentialKind
from modhub.base.service_registry import find_service
from modhub.content.text import N_
from modhub.db import Databases, bulk, now
from modhub.plugins.events import ApplicationStarted, DatabaseRestored, ModsDeleted
from modhub.plugins.resources import IApi
from modhub.plugins.services import IAccounts, IProfiles
from modhub.plugins.workers import RoundFailed, time_is_up
from modhub_auth import offers
from modhub_auth.container import AuthServices, create_auth_services
from modhub_auth.mail.commands import find_mail_problems, folder_warning
from modhub_auth.mail.link_tokens import delete_expired_links
from modhub_auth.mail.outbox import Outbox
from modhub_auth.mail.sender import EXPIRY_SECONDS, SEND_SECONDS, delete_old_emails
from modhub_auth.mail.transports import DeliveryUnavailable
from modhub_auth.models import HELD, ClientSession, OutgoingEmail, PageSession, ResetRequest
from modhub_auth.personal_data import collect_account
from modhub_auth.profiles import AccountProfiles, Accounts, remove_name, restore_name
from modhub_auth.resources import Auth, Device, IAuth
from modhub_auth.schemas import MAX_ACCOUNT_BODY
from modhub_auth.settings import ACCOUNT_SETTINGS, MAIL_SETTINGS
from modhub_auth.signin.authentication import BearerCredential
from modhub_auth.signin.recovery import queue_requested_resets
from modhub_auth.signin.sessions import delete_expired_sessions

log = logging.getLogger(__name__)


def warn_about_mail_folder(event: ApplicationStarted) -> None:
    """A service that writes its emails into a folder says so."""
    if warning := folder_warning(event.registry.settings):
        log.warning("%s", warning)


def send_emails(registry: Any) -> None:
    """The worker that sends what is due; each process has one, and a lease gives each email to one of them."""
    queue_requested_resets(registry)
    try:
        find_service(registry, AuthServices).mail_sender.send_due(time_is_up(registry))
    except DeliveryUnavailable as error:
        raise RoundFailed(str(error)) from error


def delete_expired(registry: Any) -> None:
    """The worker that deletes old emails, attempts, links and sessions."""
    auth = find_service(registry, AuthServices)
    with auth.databases.write_session.begin() as session:
        auth.rate_limiter.purge(session)
        delete_expired_links(session)
        delete_expired_sessions(session)
        delete_old_emails(session)


def check_passwords(registry: Any, _session: Any) -> tuple[()]:
    """A process that cannot hash passwords lets nobody in (C-RUN-8)."""
    find_service(registry, AuthServices).passwords.check()
    return ()


def end_sessions_and_hold_emails(event: DatabaseRestored) -> None:
    """After a restore nobody is signed in, and no email leaves by itself.

    A session may have been ended since the backup, and an email may have been sent.
    """
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


def includeme(config: Configurator) -> None:
    """Register the resources, credentials, services, settings and migrations of accounts."""
    config.include("modhub")
    config.add_feature("modhub_auth", N_("Accounts"), settings=(*ACCOUNT_SETTINGS, *MAIL_SETTINGS), migrations="auth_")
    config.add_service(AuthServices, create_auth_services(config.registry))
    config.add_child(IApi, "auth", Auth)
    config.add_child(IAuth, "device", Device)
    config.add_credential(CredentialKind.ACCOUNT, IApi, BearerCredential())
    config.add_service(IProfiles, AccountProfiles(find_service(config.registry, Databases).raw_queries))
    config.add_service(IAccounts, Accounts())
    config.add_subscriber(warn_about_mail_folder, ApplicationStarted)
    config.add_worker("emails", send_emails, SEND_SECONDS)
    config.add_worker("old emails", delete_expired, EXPIRY_SECONDS)
    config.add_subscriber(end_sessions_and_hold_emails, DatabaseRestored)
    config.add_subscriber(offers.delete_offers_of_mods, ModsDeleted)
    config.add_removable_part("author_name", N_("Name of the account"), remove_name, restore_name, target="account")
    config.add_personal_data("account", collect_account)
    config.include("modhub_auth.commands")
    config.include("modhub_auth.mail.commands")
    config.add_check("passwords", check_passwords, when=("ready",))
    config.add_check("mail", find_mail_problems, when=("doctor",))
    config.include("modhub_auth.pages")
    config.add_body_limit(("POST", "PUT", "DELETE"), "/api/auth/{rest...}", MAX_ACCOUNT_BODY)
    for hashing in ("register", "login"):
        config.add_body_limit("POST", f"/api/auth/{hashing}", MAX_ACCOUNT_BODY, waits=True)
    config.scan("modhub_auth.views")
