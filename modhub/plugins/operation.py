"""What operators see of a feature: checks, commands."""

from collections.abc import Callable, Iterable
from typing import Any

from pyramid.config import Configurator

from modhub.blobs.naming import BlobNames
from modhub.plugins.declarations import (
    AdminCommand,
    DoctorCheck,
    Worker,
)
from modhub.plugins.features import find_declarations


def add_health_check(config: Configurator, name: str, check: Callable[[Any], str | None]) -> None:
    """Call ``check(registry)`` for ``/readyz``; None means "ok", a string such as ``not configured`` is shown as is.

    A failing check raises.
    """

    def register() -> None:
        find_declarations(config).health_checks[name] = check

    config.action(("modhub health check", name), register)


def add_doctor_check(
    config: Configurator,
    label: str,
    find_problems: Callable[[Any], Iterable[str]],
    *,
    seconds: float = 5.0,
) -> None:
    """Let ``modhub-admin doctor`` call ``find_problems(admin)``, after the checks of the core.

    It returns sentences, without their full stop, that say what is wrong and what to do; none if all is well. It runs
    in a thread, and has failed if it takes longer than ``seconds``.
    """

    def register() -> None:
        find_declarations(config).doctor_checks.append(DoctorCheck(label, find_problems, seconds))

    config.action(("modhub doctor check", label), register)


def add_worker(
    config: Configurator,
    name: str,
    run: Callable[[Any], object],
    every: float = 60,
    *,
    alone: bool = False,
    at_stop: bool = False,
) -> None:
    """Let each process that serves call ``run(registry)`` in a thread of its own, ``every`` seconds after the last.

    ``run`` opens its own transactions, short ones. A failure is logged once, as ``{name} wait: …``, and counted; the
    next round is the next try. With ``alone`` only the process that holds the lease ``name`` runs it, and if another
    one has taken the lease in the meantime, its transactions are rolled back. With ``at_stop`` there is a last round
    when the process stops. A round that may take long calls `raise_if_stopping` now and then.
    """

    def register() -> None:
        find_declarations(config).workers.append(Worker(name, run, every, alone, at_stop))

    config.action(("modhub worker", name), register)


def add_maintenance(config: Configurator, name: str, verify: Callable[[Any], Iterable[str]]) -> None:
    """Let ``modhub-admin verify`` call ``verify(session)``, which returns one sentence per problem found."""

    def register() -> None:
        find_declarations(config).maintenance[name] = verify

    config.action(("modhub maintenance", name), register)


def add_blob_names(config: Configurator, name: str, describe: BlobNames) -> None:
    """Let ``describe(session, blob_ids)`` say what a feature's stored files are, by the ids of their rows.

    ``verify`` and other commands show it to the operator beside a file's key.
    """

    def register() -> None:
        find_declarations(config).blob_names[name] = describe

    config.action(("modhub blob names", name), register)


def add_command(config: Configurator, command: AdminCommand) -> None:
    """Add a command to ``modhub-admin``."""

    def register() -> None:
        find_declarations(config).commands[command.name] = command

    config.action(("modhub command", command.name), register)


def add_demo(config: Configurator, name: str, fill: Callable[[Any], None] | str, *, order: int = 100) -> None:
    """Let ``modhub-admin demo`` call ``fill(admin)``, the lowest ``order`` first.

    Given as a dotted name, it is imported by that command only.
    """

    def register() -> None:
        find_declarations(config).demos.append((order, name, fill))

    config.action(("modhub demo", name), register)
