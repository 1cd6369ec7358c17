"""Warnings for the operator at the start: settings that are accepted but most likely a mistake."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from math import log2
from typing import Any, Final
from urllib.parse import urlsplit

from modhub.base.service_registry import find_service
from modhub.base.settings import SECRET_LENGTH, MachineKey
from modhub.plugins.declarations import Declarations

MIN_ENTROPY_BITS: Final = 80
MAKE_SECRET: Final = "create one with: openssl rand -hex 32"  # noqa: S105 - a command
_PRIVATE_HOSTS: Final = (
    ".localhost",
    ".local",
    ".internal",
    ".intranet",
    ".lan",
    ".home",
    ".home.arpa",
    ".test",
    ".invalid",
)
_PYRAMID_KEYS: Final = (
    "pyramid.",
    "jinja2.",
    "tm.",
    "retry.",
    "debugtoolbar.",
    "debug_",
    "reload_",
    "default_locale_name",
)
"""Prefixes of keys that Pyramid and its extensions read."""


def start_warnings(registry: Any) -> Iterator[str]:
    """Sentences without their full stop. No key and no secret is shown."""
    yield from base_url_warnings(registry.settings)
    yield from secret_warnings(registry.settings["modhub.secret"])
    yield from key_warnings(registry)


def secret_warnings(secret_values: Iterable[str]) -> Iterator[str]:
    """Secrets that may be guessed."""
    for number, value in enumerate(secret_values, 1):
        if is_guessable(value):
            yield f"secret {number} of modhub.secret repeats too few characters and may be guessed; {MAKE_SECRET}"


def key_warnings(registry: Any) -> Iterator[str]:
    """Keys of callers that are weak or have a wrong scope, and keys of the ini that nothing reads."""
    settings, declared = registry.settings, find_service(registry, Declarations)
    yield from _machine_key_warnings(settings["ApiPrivateKeys"], declared)
    address_key = settings["modhub.storage_address_key"]
    if address_key and (weakness := _weakness(address_key)):
        yield f"modhub.storage_address_key {weakness} and may be guessed"
    declared_names = {setting.name for setting in declared.settings}
    if unused := sorted(
        key for key in declared.ini_keys if key not in declared_names and not key.startswith(_PYRAMID_KEYS)
    ):
        yield f"no included package reads these keys of the ini: {', '.join(unused)}"


def is_guessable(value: str) -> bool:
    """Whether ``value`` has low entropy, judging by how often its characters occur, or repeats a shorter text."""
    if value in (value + value)[1:-1]:
        return True
    shares = [count / len(value) for count in Counter(value).values()]
    return -len(value) * sum(share * log2(share) for share in shares) < MIN_ENTROPY_BITS


def _weakness(key: str) -> str:
    if len(key) < SECRET_LENGTH:
        return f"has fewer than {SECRET_LENGTH} characters"
    return "repeats too few characters" if is_guessable(key) else ""


def is_public(url: str) -> bool:
    """Whether ``url`` has a host that anybody on the internet may reach, judging by its name."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_PRIVATE_HOSTS)


def base_url_warnings(settings: Mapping[str, Any]) -> Iterator[str]:
    """An origin without TLS that everybody may reach."""
    url = settings["modhub.base_url"]
    if url.startswith("http:") and is_public(url):
        yield (
            f"modhub.base_url is {url}, without https: passwords and cookies are sent unencrypted. If a proxy in "
            "front terminates TLS, write https:// there, or every form is rejected as sent from another site"
        )


def _machine_key_warnings(keys: Iterable[MachineKey], declared: Declarations) -> Iterator[str]:
    for number, machine_key in enumerate(keys, 1):
        if weakness := _weakness(machine_key.key):
            yield (
                f"machine key {number} of ApiPrivateKeys {weakness} and may be guessed; "
                "modhub-admin key new creates a better one"
            )
        if unknown := sorted(machine_key.scopes - declared.scopes.keys()):
            yield (
                f"machine key {number} of ApiPrivateKeys has a scope that no included feature declares: "
                f"{', '.join(unknown)}"
            )
        if not machine_key.scopes and not declared.default_scopes:
            yield (
                f"machine key {number} of ApiPrivateKeys names no scope, and no included feature declares one for "
                "such a key"
            )
