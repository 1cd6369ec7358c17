"""Warnings for the operator at the start: settings that are accepted but most likely a mistake."""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from modhub.declarations import Declarations
from modhub.service_registry import find_service
from modhub.settings import SECRET_LENGTH, MachineKey

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


def start_warnings(registry: Any, ini_keys: Iterable[str]) -> Iterator[str]:
    """Sentences without their full stop; ``ini_keys`` are the keys of the ini. No key and no secret is shown."""
    settings = registry.settings
    yield from _base_url_warnings(settings)
    yield from _machine_key_warnings(settings["ApiPrivateKeys"], find_service(registry, Declarations))
    if 0 < len(settings["modhub.storage_address_key"]) < SECRET_LENGTH:
        yield f"modhub.storage_address_key has fewer than {SECRET_LENGTH} characters and may be guessed"
    declared_names = {setting.name for setting in find_service(registry, Declarations).settings}
    if unused := sorted(key for key in ini_keys if key not in declared_names and not key.startswith(_PYRAMID_KEYS)):
        yield f"no included package reads these keys of the ini: {', '.join(unused)}"


def is_public(url: str) -> bool:
    """Whether ``url`` has a host that anybody on the internet may reach, judging by its name."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_PRIVATE_HOSTS)


def _base_url_warnings(settings: Mapping[str, Any]) -> Iterator[str]:
    url = settings["modhub.base_url"]
    if url.startswith("http:") and is_public(url):
        yield (
            f"modhub.base_url is {url}, without https: passwords and cookies are sent unencrypted. If a proxy in "
            "front terminates TLS, write https:// there, or every form is rejected as sent from another site"
        )


def _machine_key_warnings(keys: Iterable[MachineKey], declared: Declarations) -> Iterator[str]:
    for number, machine_key in enumerate(keys, 1):
        if len(machine_key.key) < SECRET_LENGTH:
            yield (
                f"machine key {number} of ApiPrivateKeys has fewer than {SECRET_LENGTH} characters and may be guessed; "
                "modhub-admin key new creates a long one"
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
