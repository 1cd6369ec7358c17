"""Downloads that survive bad connections: resumed by ranges, checked against the SHA-256 before they count.

Some run at a time: if one fails, the others stop, and what has arrived is kept for the next run.
"""

import contextlib
import http.client
import io
import os
from collections.abc import Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Final

from modhub_client.get.folder import hash_file, local_problem, open_regular, size_of
from modhub_client.get.outcome import DiskFull, ExitCode
from modhub_client.get.service import ModhubService, Passing, Stopped
from modhub_client.names import clean_name
from modhub_client.output import ClientError, ProgressBar

MISMATCHES: Final = 5
"""Complete downloads with wrong bytes before a file is given up."""
CHUNK: Final = 64 * 1024


class FileReplaced(Exception):
    """The service has another file now, or none: the plan is out of date."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A file to fetch into ``part``, which may hold its beginning from an earlier run."""

    guid: str
    path: str
    bytes: int
    sha256: str
    part: Path
    name: str = ""
    """The name that the response must state too, unless empty: a damaged answer may have changed it."""

    @property
    def etag(self) -> str:
        """The service's entity tag of this file."""
        return f'"{self.sha256}"'


def fetch_all(service: ModhubService, transfers: Iterable[Transfer], bar: ProgressBar, jobs: int) -> None:
    """Fetch every file; raise the first failure."""
    pool = ThreadPoolExecutor(jobs)
    running = [pool.submit(fetch, service, transfer, bar) for transfer in transfers]
    try:
        wait(running, return_when=FIRST_EXCEPTION)
    except BaseException:
        service.stop.set()
        raise
    # Those that still run end at once if one has failed.
    service.stop.set()
    pool.shutdown(cancel_futures=True)
    service.stop.clear()
    problems = [done.exception() for done in running if not done.cancelled()]
    for problem in problems:
        if problem is not None and not isinstance(problem, Stopped):
            raise problem


def fetch(service: ModhubService, transfer: Transfer, bar: ProgressBar) -> None:
    """Fetch the file. On return ``part`` is complete, on the disk, and has the right SHA-256."""
    failures = mismatches = 0
    with open_regular(transfer.part) as file:
        bar.add(size_of(file))
        while True:
            before = size_of(file)
            if before >= transfer.bytes:
                if before == transfer.bytes and hash_file(file) == transfer.sha256:
                    _sync(file)
                    return
                mismatches += 1
                _restart(file, bar)
                if mismatches >= MISMATCHES:
                    raise _wrong_bytes(transfer)
                continue
            try:
                _receive(service, transfer, file, bar)
                failures = 0
            except Passing as problem:
                failures = 1 if size_of(file) > before else failures + 1
                service.wait(failures, problem)


def _receive(service: ModhubService, transfer: Transfer, file: io.FileIO, bar: ProgressBar) -> None:
    start = size_of(file)
    resume = {"Range": f"bytes={start}-", "If-Range": transfer.etag}
    headers = resume if start else {"If-Match": transfer.etag}
    response = service.open(transfer.path, headers)
    try:
        _check_head(transfer, response, start)
        if start and response.status == 200:
            # The service sends no part, so all of it comes again.
            _restart(file, bar)
        _copy(service, transfer, response, file, bar)
    finally:
        if not response.isclosed():
            service.close()


def _check_head(transfer: Transfer, response: http.client.HTTPResponse, start: int) -> None:
    """Accept only a response that is exactly what was asked for."""
    if response.status in {404, 410, 412}:
        raise FileReplaced(transfer.guid)
    if response.status == 416:
        raise Passing("the service has no such part of the file", reached=True)
    if response.status not in {200, 206}:
        raise ClientError(ExitCode.BAD_ANSWER, f"{transfer.guid}: the service refused the file ({response.status}).")
    if response.getheader("ETag") != transfer.etag:
        raise FileReplaced(transfer.guid)
    if transfer.name and clean_name(_stated_name(response)) != transfer.name:
        raise FileReplaced(transfer.guid)
    expected = transfer.bytes
    if response.status == 206:
        expected -= start
        if response.getheader("Content-Range") != f"bytes {start}-{transfer.bytes - 1}/{transfer.bytes}":
            raise Passing("the service sent another part of the file", reached=True)
    # None if the body is sent in chunks.
    if response.length is not None and response.length != expected:
        raise FileReplaced(transfer.guid)


def _stated_name(response: http.client.HTTPResponse) -> str:
    """The file name in ``Content-Disposition`` (RFC 6266)."""
    message = EmailMessage()
    with contextlib.suppress(ValueError):
        message["Content-Disposition"] = response.getheader("Content-Disposition", "")
    return message.get_filename("")


def _copy(
    service: ModhubService, transfer: Transfer, response: http.client.HTTPResponse, file: io.FileIO, bar: ProgressBar
) -> None:
    left = transfer.bytes - size_of(file)
    file.seek(0, os.SEEK_END)
    while left:
        service.pause(0)
        try:
            chunk = response.read1(min(CHUNK, left))
        except (OSError, http.client.HTTPException) as problem:
            raise Passing(f"the connection failed ({problem or type(problem).__name__})") from None
        if not chunk:
            raise Passing("the connection was cut")
        _append(file, chunk)
        left -= len(chunk)
        bar.add(len(chunk))


def _append(file: io.FileIO, chunk: bytes) -> None:
    try:
        written = file.write(chunk)
    except OSError as problem:
        raise local_problem(problem) from None
    if written != len(chunk):
        raise DiskFull


def _restart(file: io.FileIO, bar: ProgressBar) -> None:
    bar.add(-size_of(file))
    file.truncate(0)
    file.seek(0)


def _sync(file: io.FileIO) -> None:
    try:
        os.fsync(file.fileno())
    except OSError as problem:
        raise local_problem(problem) from None


def _wrong_bytes(transfer: Transfer) -> ClientError:
    sentence = f"{transfer.guid}: the bytes that arrive do not match the SHA-256 of the file; nothing was changed."
    return ClientError(ExitCode.BAD_ANSWER, sentence, guid=transfer.guid)
