"""The credentials for the parts that change something: from files or the environment, never from an argument."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from modhub_verify.outcomes import WrongUse

ACCOUNT_VARIABLES: Final = ("MODHUB_ACCOUNT_EMAIL", "MODHUB_ACCOUNT_PASSWORD")
KEY_VARIABLE: Final = "MODHUB_API_KEY"


@dataclass(frozen=True, slots=True)
class RunCredentials:
    """An account, for the part ``own``, and a machine key, for ``publish``; empty if not given."""

    email: str = ""
    password: str = field(default="", repr=False)
    machine_key: str = field(default="", repr=False)


def read_credentials(account_file: Path | None, key_file: Path | None) -> RunCredentials:
    """An account file has the email address in its first line, the password in its second; a key file the key."""
    email, password = (os.environ.get(name, "") for name in ACCOUNT_VARIABLES)
    if account_file is not None:
        email, password, *_ = *_lines_of(account_file), "", ""
        if not email or not password:
            raise WrongUse(f"{account_file} needs two lines: the email address and the password.")
    key = os.environ.get(KEY_VARIABLE, "")
    if key_file is not None:
        key, *_ = *_lines_of(key_file), ""
    key = key.strip()
    if key_file is not None and not key:
        raise WrongUse(f"{key_file} is empty.")
    if not key.isascii() or not key.isprintable():
        raise WrongUse("The machine key has characters that no key has.")
    return RunCredentials(email.strip(), password, key)


def _lines_of(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise WrongUse(f"{file} cannot be read: {problem}.") from None
