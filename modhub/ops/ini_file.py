"""What is wrong with an ini, in one sentence; the readers of PasteDeploy and plaster answer with a stack trace."""

import configparser
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError
from typing import Any

from plaster import get_loader

from modhub.settings import StartRefused, variable

APPLICATION = "main"
_KINDS = ("app", "application", "composite", "composit", "pipeline", "filter-app")
_UNREADABLE = (OSError, UnicodeDecodeError, configparser.Error, LookupError, ImportError, RuntimeError, ValueError)


def application_settings(ini: str, given: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    """The settings of the application in ``ini``, as PasteDeploy reads them; ``given`` fills its ``%(name)s``.

    Raises :class:`modhub.settings.StartRefused` with one sentence for the operator, which shows no value.
    """
    try:
        loader = get_loader(ini, protocols=["wsgi"])
        if not _has_application(loader):
            raise LookupError(f"there is no section [app:{APPLICATION}]")
        settings: Mapping[str, Any] = loader.get_wsgi_app_settings(APPLICATION, dict(given or {}))
    except _UNREADABLE as problem:
        raise StartRefused(f"{ini}: {ini_error_sentence(problem)}") from None
    return settings


def set_up_logging(ini: str) -> None:
    """Log as the sections of ``ini`` say. Raises :class:`modhub.settings.StartRefused` with one sentence."""
    try:
        get_loader(ini).setup_logging()
    except configparser.Error as problem:
        raise StartRefused(f"{ini}: {ini_error_sentence(problem)}") from None
    except Exception as problem:  # noqa: BLE001 - a class, its arguments, a level: whatever they make logging say
        raise StartRefused(
            f"{ini}: its logging sections cannot be used ({type(problem).__name__}: {problem})"
        ) from None


def refuse_unreadable(ini: str | None, given: Mapping[str, str]) -> None:
    """Raise :class:`modhub.settings.StartRefused` when ``ini`` holds an application that cannot be read.

    For the server, which is made first; an ini may also hold no application of the usual name.
    """
    if ini is None:
        return
    if _has_application(get_loader(ini, protocols=["wsgi"])):
        application_settings(ini, given)


def _has_application(loader: Any) -> bool:
    return not {f"{kind}:{APPLICATION}" for kind in _KINDS}.isdisjoint(loader.get_sections())


def ini_error_sentence(problem: Exception) -> str:
    """The end of a sentence about ``problem``. No line and no value of the file is shown: they may hold secrets."""
    for kind, told in _TOLD.items():
        if isinstance(problem, kind):
            return told(problem)
    return _first_line(problem).partition(" (protocols")[0]


def _first_line(problem: Exception) -> str:
    return str(problem).partition("\n")[0]


def _percent(problem: Any) -> str:
    return (
        f"[{problem.section}] {problem.option} holds a % that stands for nothing: write %% for a percent sign, "
        f"or give the value as the environment variable {variable(problem.option)}"
    )


def _unparsed(problem: Any) -> str:
    return f"line {', '.join(str(number) for number, _ in problem.errors)}: neither a section nor a key with a value"


# The first that fits: a kind stands before those that it is a kind of.
_TOLD: dict[type[Exception], Callable[[Any], str]] = {
    FileNotFoundError: lambda _: "there is no such configuration file",
    OSError: lambda problem: f"the configuration file cannot be read: {problem.strerror}",
    UnicodeDecodeError: lambda _: "the configuration file is not UTF-8",
    configparser.DuplicateOptionError: lambda it: f"line {it.lineno}: [{it.section}] has {it.option} twice",
    configparser.DuplicateSectionError: lambda it: f"line {it.lineno}: there is a second section [{it.section}]",
    configparser.InterpolationError: _percent,
    configparser.MissingSectionHeaderError: lambda it: (
        f"line {it.lineno}: a section such as [app:main] must come first"
    ),
    configparser.ParsingError: _unparsed,
    PackageNotFoundError: lambda problem: f"it uses the egg {problem.name}, which is not installed",
}
