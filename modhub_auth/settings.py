"""The settings of accounts and email (C-TOK-4)."""

import re
from email.utils import getaddresses
from typing import Final
from urllib.parse import urlsplit

from modhub.base.settings import Setting, boolean, port, positive, secret, text


def setting_address(value: str) -> str:
    """``http(s)://host[:port]/path``"""
    url = urlsplit(value)
    if url.scheme not in {"http", "https"} or not url.hostname or url.fragment:
        raise ValueError(f"must be an address such as https://example.org/openid, not {value!r}")
    return value


def mailbox(value: str) -> str:
    """One mailbox: ``mods@example.org`` or ``Mods <mods@example.org>`` (RFC 5322, 3.4)."""
    mailboxes = getaddresses([value])
    address = mailboxes[0][1] if len(mailboxes) == 1 else ""
    if not value.isprintable() or not re.fullmatch(r"[^@\s<>]+@[^@\s<>]+", address):
        raise ValueError(f"must be one address such as mods@example.org, not {value!r}")
    return value


def optional_mailbox(value: str) -> str:
    """A mailbox, or nothing."""
    return mailbox(value) if value else ""


ACCOUNT_SETTINGS: Final = (
    Setting("modhub_auth.registration", boolean, "true", "whether new accounts may be made"),
    Setting("modhub_auth.require_verified", boolean, "false", "whether sign-in needs a confirmed address"),
    Setting(
        "modhub_auth.refuse_common_passwords",
        boolean,
        "false",
        "whether common passwords are refused; otherwise pages warn of them, and programs may set them",
    ),
    Setting("modhub_auth.failures", positive, "10", "failed sign-ins per address and per caller in the window"),
    Setting("modhub_auth.window_seconds", positive, "900", "the sliding window of all limits, in seconds"),
    Setting(
        "modhub_auth.register_limit",
        positive,
        "30",
        "register calls per caller in the window, and as many sign-ins begun for another device",
    ),
    Setting("modhub_auth.forgot_limit", positive, "10", "forgot calls per caller in the window"),
    Setting("modhub_auth.steam", boolean, "false", "whether Steam accounts may sign in"),
    Setting(
        "modhub_auth.steam_provider",
        setting_address,
        "https://steamcommunity.com/openid/login",
        "Steam's OpenID address",
    ),
)

MAIL_SETTINGS: Final = (
    # Under the core's prefix (C-SET-6): `modhub.base.settings.RESERVED` lets it stand where there are no accounts.
    Setting("modhub.mail_dir", text, "", "absolute path of a folder for .eml files when there is no mail.host"),
    Setting("mail.host", text, "", "SMTP server; empty: emails go to modhub.mail_dir, or to the log"),
    Setting("mail.port", port, "25", "port of the SMTP server"),
    Setting("mail.username", text, "", "name at the SMTP server; empty: no sign-in there"),
    Setting("mail.password", secret, "", "password at the SMTP server"),
    Setting("mail.ssl", boolean, "false", "TLS from the first byte on"),
    Setting("mail.tls", boolean, "false", "STARTTLS"),
    Setting("mail.default_sender", mailbox, "modhub@localhost", "the sender address of emails"),
    Setting("mail.operator", optional_mailbox, "", "who gets an email when a unit of systemd fails; empty: nobody"),
)
