"""The untranslated texts of the emails about accounts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from modhub.content.text import N_


@dataclass(frozen=True, slots=True)
class EmailTemplate:
    """One email. ``%(name)s`` in a line is replaced; a line whose value is empty is left out."""

    subject: str
    before: Sequence[str]
    link: str = ""
    after: Sequence[str] = ()


ASKED_BY: Final = N_("The account's name is: %(name)s")
_IGNORE: Final = N_("If this wasn't you, ignore this email and nothing will happen.")
_CONFIRM_LIFE: Final = N_("The link works once and expires in seven days.")

_WHEN: Final = N_("When: %(when)s")
_CLIENT: Final = N_("Browser or program: %(client)s")
_NOT_YOU: Final = N_("If this wasn't you, choose a new password right away: %(forgot)s")

_TITLE: Final = N_("Mod: %(mod)s")


def _outcome_email(subject: str, sentence: str) -> EmailTemplate:
    return EmailTemplate(subject, [sentence, _TITLE], after=[_WHEN])


def security_email(subject: str, sentence: str, advice: str = _NOT_YOU) -> EmailTemplate:
    """A notice that an account has changed: what, when, by which client, and what to do about it."""
    return EmailTemplate(subject, [sentence], after=[_WHEN, _CLIENT, advice])


EMAIL_TEMPLATES: Final = {
    "confirm": EmailTemplate(
        N_("Confirm your email address"),
        [
            N_("Someone, probably you, created an account with this email address at %(site)s."),
            ASKED_BY,
            N_("Follow this link to confirm that the address is yours:"),
        ],
        "/Modhub/account/confirm",
        [_CONFIRM_LIFE, _IGNORE],
    ),
    "reset": EmailTemplate(
        N_("Choose a new password"),
        [
            N_("Someone, probably you, asked for a new password for the account with this email address at %(site)s."),
            N_("Follow this link to choose one:"),
        ],
        "/Modhub/account/reset",
        [
            N_("The link works once and expires in an hour."),
            N_("If this wasn't you, ignore this email; nothing has changed."),
        ],
    ),
    "add": EmailTemplate(
        N_("Confirm your email address"),
        [
            N_("Someone, probably you, wants to sign in with this email address at %(site)s."),
            ASKED_BY,
            N_("Follow this link in the browser where you are signed in to that account:"),
        ],
        "/Modhub/account/confirm",
        [_CONFIRM_LIFE, _IGNORE],
    ),
    "change": EmailTemplate(
        N_("Confirm your new email address"),
        [
            N_("Someone, probably you, wants to change the email address of an account at %(site)s to this one."),
            ASKED_BY,
            N_("Follow this link to confirm that the address is yours:"),
        ],
        "/Modhub/account/confirm",
        [N_("The link works once and expires in an hour."), _IGNORE],
    ),
    "taken": EmailTemplate(
        N_("You already have an account"),
        [
            N_("Someone, probably you, tried to use this email address for another account at %(site)s."),
            ASKED_BY,
            N_("It already has an account, so nothing has changed."),
        ],
    ),
    "change asked": security_email(
        N_("A new email address was requested"),
        N_("Someone, probably you, asked to change the email address of your account at %(site)s."),
    ),
    "email changed": security_email(
        N_("Your email address was changed"),
        N_("Your account at %(site)s now has another email address. This one no longer signs in."),
        N_("If this wasn't you, contact the operator of the site."),
    ),
    "password changed": security_email(
        N_("Your password was changed"), N_("The password of your account at %(site)s has just been changed.")
    ),
    "password added": security_email(
        N_("A password was added"), N_("A password has just been added to your account at %(site)s.")
    ),
    "factor added": security_email(
        N_("An authenticator was added"), N_("An authenticator has just been added to your account at %(site)s.")
    ),
    "factor removed": security_email(
        N_("Your authenticator was removed"),
        N_("The authenticator has just been removed from your account at %(site)s."),
    ),
    "codes renewed": security_email(
        N_("Your recovery codes were renewed"),
        N_("New recovery codes have just been created for your account at %(site)s; the old ones no longer work."),
    ),
    "login linked": security_email(
        N_("A sign-in method was linked"),
        N_("Another way to sign in has just been linked to your account at %(site)s."),
    ),
    "login unlinked": security_email(
        N_("A sign-in method was unlinked"), N_("A way to sign in has just been removed from your account at %(site)s.")
    ),
    "key created": security_email(
        N_("A publisher key was created"),
        N_("A key that can upload and publish mods has just been created for your account at %(site)s."),
    ),
    "program allowed": security_email(
        N_("A program was allowed to sign in"),
        N_("A program has just been allowed to act as your account at %(site)s."),
    ),
    "mod offered": EmailTemplate(
        N_("You offered a mod to another account"),
        [N_("A mod of your account at %(site)s has just been offered to another account."), _TITLE],
        after=[_WHEN, _CLIENT, _NOT_YOU],
    ),
    "offer received": EmailTemplate(
        N_("A mod was offered to you"),
        [
            N_("Another account wants to hand a mod over to yours at %(site)s."),
            ASKED_BY,
            _TITLE,
            N_("Sign in within 14 days to accept or decline it: %(account)s"),
        ],
    ),
    "offer accepted": _outcome_email(
        N_("A mod was handed over"), N_("The offer of a mod at %(site)s was accepted, so the mod has a new owner.")
    ),
    "offer declined": _outcome_email(
        N_("The offer of a mod was declined"),
        N_("The offer of a mod at %(site)s was declined, so the mod keeps its owner."),
    ),
    "offer withdrawn": _outcome_email(
        N_("The offer of a mod was withdrawn"),
        N_("The offer of a mod at %(site)s was withdrawn, so the mod keeps its owner."),
    ),
    "account deleted": security_email(
        N_("Your account was deleted"),
        N_("Your account at %(site)s has just been deleted, with its mods and votes."),
        N_("If this wasn't you, contact the operator of the site."),
    ),
}
