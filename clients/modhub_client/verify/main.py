"""Checks from outside whether a mod service keeps the contract of modhub, clause by clause.

    modhub-verify https://mods.example.org
    modhub-verify https://mods.example.org --json > report.json
    modhub-verify https://mods.example.org --part own --account-file account.txt
    modhub-verify https://mods.example.org --part publish --key-file key.txt

Parts: "read" is what every visitor may see, "follow" what programs that follow the catalogue use; neither needs an
account or changes anything. "own" makes, publishes and deletes a mod of its own with an account, "publish" a wiki page
with a machine key. Without --part it runs read and follow, and own or publish if there are credentials for them. What
was not tried is "skipped" and what the deployment leaves out is "absent"; neither is "passed".

An account file has the email address in its first line and the password in its second, or one line with an access token
or a publisher key. Instead of the files, the environment may have MODHUB_VERIFY_EMAIL and MODHUB_VERIFY_PASSWORD, or
MODHUB_VERIFY_TOKEN, and MODHUB_VERIFY_KEY. Proxies are taken from the environment. Never more than four connections are
open, and the service may ask to wait (429 and Retry-After).

exit codes: 0 every clause that was tried is kept; 1 a clause is broken, or something could not be removed again;
2 usage error, a credential that is refused, or the report cannot be written; 3 the service is unreachable;
130 interrupted
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from modhub_client import __version__
from modhub_client.output import ProgressBar, WrongUse, printable, take_every_character, warn, write_now
from modhub_client.verify.checks import VERIFIED_PARTS
from modhub_client.verify.owner import require_account
from modhub_client.verify.parts import CHECKS, find_features
from modhub_client.verify.publish_checks import require_key
from modhub_client.verify.replies import PROGRAM, Broken, Skipped, Unreachable, VerifyExit
from modhub_client.verify.report import (
    CheckResult,
    CheckState,
    VerifyReport,
    json_report,
    junit_report,
    result_line,
    summary_lines,
)
from modhub_client.verify.run import Run, RunCredentials, read_credentials
from modhub_client.verify.runner import run_checks
from modhub_client.verify.service import VerifiedService


def make_verify_parser() -> argparse.ArgumentParser:
    """The arguments."""
    about, _, epilog = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        PROGRAM, description=about, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", metavar="URL", nargs="?", default=os.environ.get("MODHUB_URL", ""))
    parser.add_argument("--part", action="append", choices=VERIFIED_PARTS, help="only this part; may be repeated")
    parser.add_argument("--account-file", type=Path, metavar="FILE", help="the account for the part own")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="the machine key for the part publish")
    parser.add_argument(
        "--may-leave-traces",
        action="store_true",
        help="publish also what cannot be removed again, an app build, and vote for a moment on a mod of somebody else",
    )
    parser.add_argument(
        "--interface-only", action="store_true", help="leave out what modhub adds to the interface: for other services"
    )
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="for each call (30)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit's XML")
    parser.add_argument("--version", action="version", version=f"modhub-verify {__version__}")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The console script. The module's docstring explains the exit codes."""
    take_every_character()
    arguments = make_verify_parser().parse_args(argv)
    try:
        _end_as_interrupted()
        credentials = read_credentials(arguments.account_file, arguments.key_file)
        parts = _choose_parts(arguments.part, credentials)
        if not arguments.url:
            raise WrongUse("Name the service.")
        with VerifiedService(arguments.url, arguments.timeout) as service:
            report = _verify(service, parts, credentials, arguments)
    except WrongUse as problem:
        return _fail(VerifyExit.USAGE, problem, as_json=arguments.json)
    except (Unreachable, Skipped) as problem:
        return _fail(VerifyExit.UNREACHABLE, problem, as_json=arguments.json)
    except KeyboardInterrupt:
        return int(VerifyExit.INTERRUPTED)
    return _write_report(report, arguments)


def _end_as_interrupted() -> None:
    """Let a build agent that ends the program, or a terminal that is closed, be a Ctrl-C: what was made is removed."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def _choose_parts(named: Sequence[str] | None, credentials: RunCredentials) -> Sequence[str]:
    has = {"own": credentials.has_account, "publish": bool(credentials.machine_key)}
    parts = [part for part in VERIFIED_PARTS if part in named or ()] if named else []
    for part in parts:
        if not has.get(part, True):
            raise WrongUse(f"The part {part} needs {'--account-file' if part == 'own' else '--key-file'}.")
    return parts or [part for part in VERIFIED_PARTS if has.get(part, True)]


def _require_credentials(run: Run, parts: Sequence[str]) -> None:
    """The key first: it leaves no session behind when the account is refused."""
    if "publish" in parts:
        require_key(run)
    if "own" in parts and "modhub_auth" in run.features:
        require_account(run)


def _verify(
    service: VerifiedService, parts: Sequence[str], credentials: RunCredentials, arguments: argparse.Namespace
) -> VerifyReport:
    reply = service.head("/api/modhub")
    if 300 <= reply.status < 400 and reply.header("Location"):
        raise WrongUse(f"The service redirects to {printable(reply.header('Location'))}: name that address.")
    try:
        features = find_features(service)
    except (Broken, Skipped) as problem:
        warn(PROGRAM, f"The features are not known: {problem}")
        features = frozenset({"core"})
    run = Run(service, features, credentials, arguments.may_leave_traces, arguments.interface_only)
    _require_credentials(run, parts)
    checks = [check for check in CHECKS if check.part in parts]
    bar = ProgressBar(len(checks), None if arguments.json else sys.stderr)

    def tell(result: CheckResult) -> None:
        bar.add(1)
        is_news = result.state in {CheckState.BROKEN, CheckState.SKIPPED}
        if not arguments.json and (is_news or not bar.is_shown):
            bar.clear()
            write_now(sys.stdout, f"{printable(result_line(result))}\n")

    report = run_checks(run, checks, tell)
    bar.clear()
    return report


def _fail(code: VerifyExit, problem: Exception, *, as_json: bool) -> int:
    """Say why there is no report."""
    warn(PROGRAM, str(problem))
    if as_json:
        document = {"exit": int(code), "error": code.name.lower(), "message": str(problem)}
        write_now(sys.stdout, json.dumps(document) + "\n")
    return int(code)


def _write_report(report: VerifyReport, arguments: argparse.Namespace) -> int:
    problems: list[OSError | None] = []
    if arguments.junit is not None:
        try:
            arguments.junit.write_bytes(junit_report(report))
        except OSError as problem:
            problems.append(problem)
    lines = "".join(f"{printable(line)}\n" for line in summary_lines(report))
    problems.append(write_now(sys.stdout, json_report(report) if arguments.json else lines))
    failures = [problem for problem in problems if problem is not None]
    for failure in failures:
        warn(PROGRAM, f"The report cannot be written: {failure}.")
    return int(VerifyExit.USAGE if failures else report.code)


if __name__ == "__main__":
    sys.exit(main())
