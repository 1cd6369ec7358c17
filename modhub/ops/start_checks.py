"""What an operator is warned of at the start: settings that are taken, and most often are a slip."""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from modhub.declarations import Declarations
from modhub.service_registry import find_service
from modhub.settings import SECRET_LENGTH, MachineKey

_LOCAL: Final = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".home.arpa", ".test", ".invalid")
_OTHERS: Final = ("pyramid.", "jinja2.", "tm.", "retry.", "debugtoolbar.", "debug_", "reload_", "default_locale_name")
"""Keys that Pyramid and its extensions read."""


def start_warnings(registry: Any, given: Iterable[str]) -> Iterator[str]:
    """Sentences without their full stop; ``given`` are the keys of the ini. No key and no secret is shown."""
    settings = registry.settings
    yield from _base_url(settings)
    yield from _keys(settings["ApiPrivateKeys"], find_service(registry, Declarations))
    if 0 < len(settings["modhub.storage_address_key"]) < SECRET_LENGTH:
        yield f"modhub.storage_address_key has fewer than {SECRET_LENGTH} characters and may be guessed"
    known = {setting.name for setting in find_service(registry, Declarations).settings}
    if unread := sorted(key for key in given if key not in known and not key.startswith(_OTHERS)):
        yield f"nothing that is switched on reads these keys of the ini: {', '.join(unread)}"


def is_public(url: str) -> bool:
    """Whether ``url`` has a host that the whole net may reach, as far as its name tells."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_LOCAL)


def _base_url(settings: Mapping[str, Any]) -> Iterator[str]:
    url = settings["modhub.base_url"]
    if url.startswith("http:") and is_public(url):
        yield (
            f"modhub.base_url is {url}, without https: passwords and cookies travel in the clear. Where a proxy in "
            "front ends TLS, write https:// there, or every form is refused as sent from another site"
        )


def _keys(keys: Iterable[MachineKey], declared: Declarations) -> Iterator[str]:
    for number, one in enumerate(keys, 1):
        if len(one.key) < SECRET_LENGTH:
            yield (
                f"machine key {number} of ApiPrivateKeys has fewer than {SECRET_LENGTH} characters and may be guessed; "
                "modhub-admin key new makes a long one"
            )
        if unknown := sorted(one.scopes - declared.scopes.keys()):
            yield (
                f"machine key {number} of ApiPrivateKeys has a scope that no included feature declares: "
                f"{', '.join(unknown)}"
            )
        if not one.scopes and not declared.default_scopes:
            yield (
                f"machine key {number} of ApiPrivateKeys names no scope, and no included feature declares one for "
                "such a key"
            )
