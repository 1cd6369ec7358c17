"""``modhub-admin doctor``: is everything around the service as it should be? Each line says ok, or what to do.

Features add checks with ``config.add_doctor_check``. A check returns sentences about what to do, none if all is well;
an error that it raises is such a sentence too.
"""

import argparse
import logging
from threading import Event, Thread
from typing import Any, Final

from modhub.base.errors import ApiError
from modhub.base.settings import StartRefused
from modhub.base.system_faults import is_system_fault
from modhub.db import is_transient
from modhub.db.database_errors import driver_reason
from modhub.declarations import DoctorCheck, add_json_option

log = logging.getLogger(__name__)
DOCTOR_SECONDS: Final = 5.0
"""A check that takes longer has failed, unless it says how long it may take."""


def run_doctor(admin: Any, arguments: argparse.Namespace) -> int:
    """Run the checks in their order and print each; the exit code is 1 if one of them is not ok."""
    is_well = True
    for check in sorted(admin.declarations.doctor_checks, key=lambda check: (check.order, check.label)):
        problems = run_doctor_check(check, admin)
        is_well = is_well and not problems
        if arguments.json:
            admin.say_json({"label": check.label, "ok": not problems, "problems": problems})
        else:
            for line in problems or ["ok"]:
                admin.say(f"{check.label}: {line}")
    return 0 if is_well else 1


def run_doctor_check(check: DoctorCheck, admin: Any) -> list[str]:
    """Run a check in a thread of its own, which does not keep the process alive."""
    problems, ended = list[str](), Event()

    def run() -> None:
        try:
            problems.extend(check.find_problems(admin))
        except (StartRefused, ApiError) as error:
            problems.append(str(error).rstrip("."))
        except Exception as error:
            log.debug("a check failed", exc_info=True)
            problems.append(f"the check failed ({_reason(error, admin)})")
        ended.set()

    Thread(target=run, name="modhub doctor", daemon=True).start()
    seconds = check.seconds or DOCTOR_SECONDS
    if ended.wait(seconds):
        return problems
    whom = " or ".join(check.asks)
    advice = f"start what {whom} names, or correct the setting" if whom else "something that it asks hangs"
    return [*problems, f"no answer within {seconds:g} seconds: {advice}"]


def _reason(error: Exception, admin: Any) -> str:
    """What an operator can mend, in words; else the kind of the error."""
    if is_transient(error):
        return f"the database is not available: {driver_reason(error, admin.databases.write_engine.url)}"
    return str(error.strerror) if is_system_fault(error) else type(error).__name__


def doctor_arguments(parser: argparse.ArgumentParser) -> None:
    """``--json``"""
    add_json_option(parser)
