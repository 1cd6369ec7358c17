"""The credentials for the parts that change something: from files or the environment, never from an argument."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from modhub_client.outcome import WrongUse

_KEY_PREFIX: Final = "mhk_"
"""How publisher keys begin."""
_MOST: Final = 10_000
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class RunCredentials:
    """An account, for the part ``own``, and a machine key, for ``publish``; empty if not given.

    The account is an address with its password, an access token, or a publisher key.
    """

    email: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    publisher_key: str = field(default="", repr=False)
    machine_key: str = field(default="", repr=False)

    @property
    def has_account(self) -> bool:
        """Whether the part ``own`` can be tried."""
        return bool(self.password or self.token or self.publisher_key)


def read_credentials(account_file: Path | None, key_file: Path | None) -> RunCredentials:
    """What the files say, else the environment.

    An account file has the email address in its first line and the password in its second, or one line with an access
    token or a publisher key. A key file has the machine key.
    """
    account, place = _account_of(os.environ), "The environment"
    if account_file is not None:
        account, place = _lines_of(account_file), str(account_file)
    key = os.environ.get("MODHUB_VERIFY_KEY", "").strip()
    if key_file is not None:
        key = " ".join(_lines_of(key_file)).strip()
        if not key:
            raise WrongUse(f"{key_file} is empty.")
    if not _is_word(key):
        raise WrongUse("The machine key has characters that no key has.")
    match account:
        case [] if account_file is None:
            return RunCredentials(machine_key=key)
        case [email, password] if "@" in email:
            return RunCredentials(email=email.strip(), password=password, machine_key=key)
        case [word] if _is_word(word.strip()) and "@" not in word:
            is_key = word.strip().startswith(_KEY_PREFIX)
            named = {"publisher_key" if is_key else "token": word.strip()}
            return RunCredentials(machine_key=key, **named)
    raise WrongUse(
        f"{place} needs an email address and a password in two lines, or one line: a token or publisher key."
    )


def _account_of(environ: Mapping[str, str]) -> list[str]:
    email, password = environ.get("MODHUB_VERIFY_EMAIL", ""), environ.get("MODHUB_VERIFY_PASSWORD", "")
    if bool(email) != bool(password):
        raise WrongUse("MODHUB_VERIFY_EMAIL and MODHUB_VERIFY_PASSWORD belong together.")
    token = environ.get("MODHUB_VERIFY_TOKEN", "")
    return [email, password] if email else [token] if token else []


def _is_word(text: str) -> bool:
    return text.isascii() and (text.isprintable() or not text) and " " not in text


def _lines_of(file: Path) -> list[str]:
    """The lines of a small file that nobody but its owner can use, where the system knows such rights."""
    try:
        with file.open("rb") as opened:
            if os.name == "posix" and os.fstat(opened.fileno()).st_mode & _OTHERS:
                raise WrongUse(f"{file} can be used by others. Run chmod 600 on it first.")
            content = opened.read(_MOST + 1)
        if len(content) > _MOST:
            raise WrongUse(f"{file} is too large for a credential.")
        # A password may begin or end with spaces.
        return [line for line in content.decode("utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as problem:
        raise WrongUse(f"{file} cannot be read: {problem}.") from None
