"""Problems of an ini file in one sentence; the readers of PasteDeploy and plaster raise a stack trace."""

import configparser
import re
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError
from typing import Any

from plaster import get_loader

from modhub.base.settings import StartRefused, variable

APPLICATION = "main"
_KINDS = ("app", "application", "composite", "composit", "pipeline", "filter-app")
_NO_LOADER = re.compile(r"No loader given in section '(?P<section>[^']+)'")
_NO_SECTION = re.compile(r"No section '(?P<name>[^']+)' \(prefixed by '(?P<kind>[^']+)'")
_NO_ENTRY_POINT = re.compile(r"Entry point '(?P<name>[^']+)' not found in egg '(?P<egg>[^']+)'")
_UNREADABLE = (OSError, UnicodeDecodeError, configparser.Error, LookupError, ImportError, RuntimeError, ValueError)


def application_settings(ini: str, defaults: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    """The settings of the application in ``ini``, as PasteDeploy reads them; ``defaults`` fill its ``%(name)s``.

    Raises :class:`modhub.base.settings.StartRefused` with one sentence for the operator, which shows no value.
    """
    try:
        loader = _loader(ini)
        if not _has_application(loader):
            raise LookupError(f"there is no section [app:{APPLICATION}]")
        settings: Mapping[str, Any] = loader.get_wsgi_app_settings(APPLICATION, dict(defaults or {}))
    except _UNREADABLE as error:
        raise StartRefused(f"{ini}: {ini_error_sentence(error)}") from None
    return settings


def set_up_logging(ini: str, defaults: Mapping[str, str] | None = None) -> None:
    """Configure logging from ``ini``. Raises :class:`modhub.base.settings.StartRefused` with one sentence."""
    try:
        _loader(ini).setup_logging(dict(defaults or {}))
    except configparser.Error as error:
        raise StartRefused(f"{ini}: {ini_error_sentence(error)}") from None
    except Exception as error:  # noqa: BLE001 - a wrong class, argument or level can raise anything
        raise StartRefused(f"{ini}: its logging sections cannot be used ({type(error).__name__}: {error})") from None


def refuse_unreadable(ini: str | None, defaults: Mapping[str, str]) -> None:
    """Raise :class:`modhub.base.settings.StartRefused` if the application in ``ini`` cannot be read.

    For the server, which is created first; an ini may also have no application of the usual name.
    """
    if ini is None:
        return
    if _has_application(_loader(ini)):
        application_settings(ini, defaults)


def refuse_unusable(ini: str, defaults: Mapping[str, str], server_name: str | None) -> None:
    """Read all of ``ini`` that a start reads: logging, application, server (None: it is not in the ini).

    Raises :class:`modhub.base.settings.StartRefused` with one sentence.
    """
    try:
        loader = _loader(ini)
        if _has_application(loader):
            application_settings(ini, defaults)
        set_up_logging(ini, defaults)
        if server_name is not None:
            loader.get_wsgi_server(server_name, dict(defaults))
    except _UNREADABLE as error:
        raise StartRefused(f"{ini}: {ini_error_sentence(error)}") from None


def _loader(ini: str) -> Any:
    """plaster's loader for ``ini``."""
    return get_loader(ini, protocols=["wsgi"])


def _has_application(loader: Any) -> bool:
    return not {f"{kind}:{APPLICATION}" for kind in _KINDS}.isdisjoint(loader.get_sections())


def ini_error_sentence(error: Exception) -> str:
    """The end of a sentence about ``error``. No line and no value of the file is shown: they may hold secrets."""
    for kind, describe in _DESCRIPTIONS.items():
        if isinstance(error, kind):
            return describe(error)
    return _first_line(error)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _describe_percent(error: Any) -> str:
    return (
        f"[{error.section}] {error.option} holds a % that is not part of a %(name)s: write %% for a percent sign, "
        f"or give the value as the environment variable {variable(error.option)}"
    )


def _describe_lookup(error: Any) -> str:
    """PasteDeploy's errors have no type and no parts of their own, only their English text."""
    message = _first_line(error)
    if match := _NO_LOADER.match(message):
        section = match["section"]
        return f"[{section}] has no line such as use = egg:modhub{'#server' if section.startswith('server') else ''}"
    if match := _NO_SECTION.match(message):
        return f"there is no section [{match['kind']}:{match['name']}]"
    if match := _NO_ENTRY_POINT.match(message):
        return f"the egg {match['egg']} has nothing of the name {match['name']}"
    return message.partition(" (protocols")[0]


def _describe_unparsed(error: Any) -> str:
    return f"line {', '.join(str(number) for number, _ in error.errors)}: neither a section nor a key with a value"


# The first match is used, so subclasses come before their base classes.
_DESCRIPTIONS: dict[type[Exception], Callable[[Any], str]] = {
    FileNotFoundError: lambda _: "there is no such configuration file",
    OSError: lambda error: f"the configuration file cannot be read: {error.strerror}",
    UnicodeDecodeError: lambda _: "the configuration file is not UTF-8",
    configparser.DuplicateOptionError: lambda error: f"line {error.lineno}: [{error.section}] has {error.option} twice",
    configparser.DuplicateSectionError: lambda error: (
        f"line {error.lineno}: there is a second section [{error.section}]"
    ),
    configparser.InterpolationError: _describe_percent,
    configparser.MissingSectionHeaderError: lambda error: (
        f"line {error.lineno}: a section such as [app:main] must come first"
    ),
    configparser.ParsingError: _describe_unparsed,
    PackageNotFoundError: lambda error: f"it uses the egg {error.name}, which is not installed",
    LookupError: _describe_lookup,
}
