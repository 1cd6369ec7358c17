"""Declared settings: each has a name, a kind, a default and a description; read once, at the start.

A feature declares its own with ``config.add_feature``. The ini provides the text, unless an environment variable
overrides it (the name in upper case, ``.`` as ``_``; C-TOK-4). An invalid value stops the start with one line.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from difflib import get_close_matches
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

DEFAULT_SITE_NAME: Final = "modhub"
SECRET_LENGTH = 32
MAX_LOCK_SECONDS = 600
"""A sweep must not find the file of an upload that still waits for a lock."""
MAX_NUMBER = 999_999_999
"""It fits every database."""
BROWSER_SCHEMES = frozenset(
    {"about", "blob", "data", "file", "filesystem", "ftp", "http", "https", "javascript", "mailto", "tel", "vbscript"}
)
_PORTS = {"http": 80, "https": 443}
_LOCATION = re.compile(r"/(?:[A-Za-z0-9._-]+/)+", re.ASCII)
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]*:[0-9a-f:.]*", re.ASCII)


class StartRefused(Exception):
    """The service must not start; the message is a single line for the operator."""


class Secret(str):
    """Text that never shows in a ``repr``, so that no log or error page can contain it by accident."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Secret(...)"


@dataclass(frozen=True, slots=True)
class Setting:
    """A declared setting. ``kind`` turns text into the value or raises ``ValueError`` with the end of a sentence."""

    name: str
    kind: Callable[[str], Any]
    default: str | None
    help: str

    def read(self, ini_settings: Mapping[str, Any], environ: Mapping[str, str]) -> Any:
        """The value from the environment, the ini or the default, in this order."""
        text = environ.get(variable(self.name), ini_settings.get(self.name, self.default))
        if text is None:
            raise StartRefused(f"the setting {self.name} is missing ({self.help})")
        if not isinstance(text, str):
            return text
        try:
            return self.kind(text.strip())
        except ValueError as error:
            raise StartRefused(f"the setting {self.name} {error}") from None


def variable(name: str) -> str:
    """The environment variable for the setting ``name``."""
    return name.upper().replace(".", "_")


def text(value: str) -> str:
    """Return the text as it stands in the ini."""
    return value


def secret(value: str) -> Secret:
    """Text that is never shown."""
    return Secret(value)


def boolean(value: str) -> bool:
    """``true`` or ``false`` (also yes/no, on/off, 1/0)."""
    values = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    if value.lower() not in values:
        raise ValueError(f"must be true or false, not {value!r}")
    return values[value.lower()]


def whole_number(least: int, most: int = MAX_NUMBER) -> Callable[[str], int]:
    """The kind of a whole number from ``least`` to ``most``."""

    def read(value: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", value) or not least <= int(value) <= most:
            raise ValueError(f"must be a whole number from {least} to {most}, not {value!r}")
        return int(value)

    return read


positive, whole = whole_number(1), whole_number(0)


def port(value: str) -> int:
    """A TCP port."""
    number = positive(value)
    if number > 65535:
        raise ValueError(f"must be a port, not {value!r}")
    return number


def location(value: str) -> str:
    """A path that begins and ends with a slash, or nothing."""
    if value and not _LOCATION.fullmatch(value):
        raise ValueError(f"must be a path such as /_files/, not {value!r}")
    return value


def origin(value: str) -> str:
    """``http(s)://host[:port]`` without path, as browsers write it in ``Origin`` (RFC 6454, 6.2).

    That is in lower case and without the default port; the origin of forms is compared with it.
    """
    try:
        url = urlsplit(value)
        port = url.port
    except ValueError:
        port, url = 0, urlsplit("")
    scheme, host = url.scheme, url.hostname or ""
    has_other_parts = set(value) & set("?#@") or url.path not in {"", "/"} or not _HOST.fullmatch(host)
    if scheme not in _PORTS or port == 0 or has_other_parts:
        raise ValueError(f"must be an origin such as https://mods.example.org, not {value!r}")
    host_text = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host_text}" if port in {None, _PORTS[scheme]} else f"{scheme}://{host_text}:{port}"


def url_scheme(value: str) -> str:
    """The scheme of an app's own links, in lower case (RFC 3986, 3.1), or nothing; none that a browser opens itself."""
    scheme = value.lower()
    if scheme and (not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme, re.ASCII) or scheme in BROWSER_SCHEMES):
        raise ValueError(f"must be the scheme of an app's links, such as modhub, not {value!r}")
    return scheme


def secrets(value: str) -> tuple[Secret, ...]:
    """One or more secrets, one a line, each of at least 32 characters; the first signs tokens, all verify them."""
    secret_values = tuple(Secret(line.strip()) for line in value.splitlines() if line.strip())
    if not secret_values or min(map(len, secret_values)) < SECRET_LENGTH:
        raise ValueError(f"must hold at least {SECRET_LENGTH} characters, one secret a line")
    return secret_values


@dataclass(frozen=True, slots=True, repr=False)
class MachineKey:
    """A configured machine key and the scopes that its line names (C-TOK-4, ``ApiPrivateKeys``)."""

    key: Secret
    scopes: frozenset[str]


def machine_keys(value: str) -> tuple[MachineKey, ...]:
    """One key a line, ``KEY [scope ...]``; blank lines are ignored."""
    lines = [line.split() for line in value.splitlines() if line.strip()]
    first_lines: dict[str, int] = {}
    for number, (key, *_) in enumerate(lines, 1):
        if (first := first_lines.setdefault(key, number)) != number:
            raise ValueError(f"names the same key twice: its keys {first} and {number}")
    return tuple(MachineKey(Secret(key), frozenset(scopes)) for key, *scopes in lines)


def is_loopback(url: str) -> bool:
    """Whether ``url`` refers to this machine only."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_settings(declared: Iterable[Setting], settings: MutableMapping[str, Any]) -> None:
    """Replace the text of each declared setting in ``settings`` by its value."""
    for setting in declared:
        settings[setting.name] = setting.read(settings, os.environ)


def refuse_unknown(declared: Iterable[Setting], prefixes: Iterable[str], settings: Mapping[str, Any]) -> None:
    """Stop the start if a key under one of ``prefixes`` is not declared: most likely a typo."""
    names = {setting.name for setting in declared}
    for key in sorted(settings):
        if key.startswith(tuple(prefixes)) and key not in names | FEATURE_KEYS:
            similar = get_close_matches(key, names, n=1, cutoff=0.8)
            hint = f"the nearest is {similar[0]}" if similar else "docs/settings.md lists those of modhub itself"
            raise StartRefused(f"the setting {key} is unknown; {hint}")


FEATURE_KEYS: Final = frozenset({"modhub.mail_dir"})
"""Keys under the core's prefix that a feature may declare; without that feature they are ignored."""

DATABASE = (
    Setting("sqlalchemy.url", secret, None, "sqlite:////absolute/path or postgresql+psycopg://..."),
    Setting("sqlalchemy.pool_size", positive, "8", "connections that each of a process's three pools keeps open"),
    Setting("sqlalchemy.max_overflow", whole, "7", "connections that each pool may open beyond that"),
)

CORE = (
    *DATABASE,
    Setting(
        "modhub.lock_seconds",
        whole_number(1, MAX_LOCK_SECONDS),
        "5",
        "seconds to wait for a lock; then 503; at most 600",
    ),
    Setting(
        "modhub.statement_seconds",
        positive,
        "60",
        "seconds for a statement, on PostgreSQL; then 503",
    ),
    Setting(
        "modhub.base_url", origin, "http://127.0.0.1:6543", "public origin, for links in emails, feeds and redirects"
    ),
    Setting(
        "modhub.secret",
        secrets,
        None,
        "one or more of at least 32 characters, one a line; a new one is last until every process has it",
    ),
    Setting("modhub.storage", text, "", "file:///absolute/folder or s3://bucket/prefix; empty: uploads get 503"),
    Setting("modhub.storage.endpoint", text, "", "address of the object store until one is reported; empty: AWS"),
    Setting("modhub.storage.region", text, "", "region of the object store; empty: us-east-1"),
    Setting("modhub.storage.access_key", secret, "", "access key of the object store"),
    Setting("modhub.storage.secret_key", secret, "", "secret key of the object store"),
    Setting("modhub.storage_address_key", secret, "", "the address key of the file-storage machine"),
    Setting("modhub.install_scheme", url_scheme, "modhub", "scheme of links that open a mod in the app; empty: none"),
    Setting("modhub.audit_days", positive, "90", "days that the audit trail keeps addresses and names"),
    Setting(
        "modhub.accel_redirect", location, "", "nginx location whose alias is the folder of files; empty: we send them"
    ),
    Setting("ApiPrivateKeys", machine_keys, "", "machine keys, one a line: KEY [scope ...]"),
)
