"""What a check is given: the service, its features, samples of its content, and the credentials of the caller."""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from modhub_client.output import WrongUse
from modhub_client.verify.replies import Reply, Skipped
from modhub_client.verify.service import VerifiedService

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


UNKNOWN_GUID: Final = "00000000-0000-4000-8000-000000000000"
"""A GUID that no mod has."""
UNKNOWN_ID: Final = 9_007_199_254_740_993
"""A number that nothing has."""


@dataclass
class Run:
    """One run. Checks of the parts ``read`` and ``follow`` run in several threads and change nothing."""

    service: VerifiedService
    features: frozenset[str]
    credentials: RunCredentials = field(default_factory=RunCredentials)
    may_leave_traces: bool = False
    """Whether what cannot be removed again may be published."""
    interface_only: bool = False
    notes: dict[str, Any] = field(default_factory=dict)
    """What checks of one part leave for later ones."""
    undo: list[Callable[[], object]] = field(default_factory=list)
    """What is called when the run ends, however it ends; the last one first. It may be called twice."""

    def renewed(self) -> "Run":
        """The same run, which reads its samples of the catalogue once more."""
        return replace(self)

    # What the catalogue has. It is read once; content that a check needs and nobody published is no fault.

    @cached_property
    def listed(self) -> Reply:
        """The first hundred mods."""
        return self.service.get("/api/modhub?size=100").expect(200)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The description of the API; empty without one."""
        reply = self.service.get("/api/openapi.json")
        return reply.document() if reply.status == 200 else {}

    @property
    def mods(self) -> list[dict[str, Any]]:
        """The mods of `listed`; `Skipped` if none is published."""
        mods = self.listed.document().get("mods")
        if not isinstance(mods, list) or not mods:
            raise Skipped("no mod is published")
        return mods

    def find_mod(self, needed: str, fits: Callable[[dict[str, Any]], object] = bool) -> dict[str, Any]:
        """A published mod that fits; `Skipped` if none of the newest hundred does. ``needed`` says what for."""
        for mod in self.mods:
            if fits(mod):
                return mod
        raise Skipped(f"no mod of the newest hundred has {needed}")

    @cached_property
    def a_mod(self) -> dict[str, Any]:
        """The mod that was changed last."""
        return self.mods[0]

    @property
    def mod_path(self) -> str:
        """``/api/modhub/{id}`` of `a_mod`."""
        return f"/api/modhub/{self.a_mod['id']}"

    @cached_property
    def code_mod(self) -> dict[str, Any]:
        """A published mod with a small code file, if there is one: files are downloaded."""
        return min(self.mods, key=lambda mod: find_asset(mod, "code").get("bytes", 1 << 40))

    @property
    def code_file(self) -> dict[str, Any]:
        """The code file of `code_mod`; `Skipped` if no mod has one."""
        file = find_asset(self.code_mod, "code")
        if not file:
            raise Skipped("no mod has a code file")
        return file

    @cached_property
    def a_file(self) -> Reply:
        """The headers of `code_file`."""
        return self.service.head(self.code_file["url"]).expect(200)

    def digest_of(self, mod: dict[str, Any], kind: str = "code") -> str:
        """The SHA-256 of a mod's file, by its ``ETag``."""
        return self.service.head(find_asset(mod, kind)["url"]).expect(200).header("ETag").strip('"')


def find_asset(mod: dict[str, Any], kind: str) -> dict[str, Any]:
    """The first asset of a kind; empty if the mod has none."""
    return next((asset for asset in mod["assets"] if asset["kind"] == kind), {})
