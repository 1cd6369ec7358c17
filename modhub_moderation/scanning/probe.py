"""Whether clamd finds what it should: ``modhub-admin doctor`` sends the EICAR test file, which is harmless.

Above its own limits clamd calls a file clean without having looked, so the test file is sent as the last member of an
archive that is as large as an upload may be. It is put together here, so that no file of ours is taken for malware.
"""

import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from typing import Final

from modhub.content.limits import CODE, KB, MB
from modhub_moderation.scanning.interfaces import Scanner, ScannerDown

EICAR: Final = b"".join((b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", b"-STANDARD-ANTIVIRUS-", b"TEST-FILE!$H+H*"))
FILLER: Final = CODE - 64 * KB
"""More than the 40 MB behind which many settings of clamd end: all that fits before the test file."""
LIMITED: Final = "Heuristics.Limits.Exceeded"
"""What clamd finds, with ``AlertExceedsMax``, in a file that it has not looked through."""
_CHUNK: Final = 256 * KB
_MEMBER: Final = 8 * MB
_UNPACKED: Final = 2 * FILLER
"""clamd counts an archive and what is in it towards ``MaxScanSize``."""


def find_clamd_problems(scanner: Scanner) -> list[str]:
    """Sentences about what to do, without their full stop."""
    return list(_find_problems(scanner))


def _find_problems(scanner: Scanner) -> Iterator[str]:
    try:
        if not _is_found(scanner, [EICAR]):
            yield "clamd does not find the EICAR test file: it has no signatures; install them, or start freshclam"
            return
        if _is_found(scanner, large_archive()):
            return
        limits = ("MaxFileSize", CODE) if _is_found(scanner, dense_archive()) else ("MaxScanSize", 2 * CODE)
    except ScannerDown as error:
        yield str(error)
        return
    setting, needed = limits
    yield (
        f"clamd calls large files clean without looking: an upload may have {CODE // MB} MB, so raise {setting} in "
        f"clamd.conf to more than {needed // MB}M and restart clamd"
    )


def _is_found(scanner: Scanner, chunks: Iterable[bytes]) -> bool:
    scan = scanner.begin()
    try:
        for chunk in chunks:
            scan.send(chunk)
        rule = scan.finish()
    finally:
        scan.close()
    return rule is not None and not rule.startswith(LIMITED)


def large_archive() -> Iterator[bytes]:
    """A zip file of as many bytes as an upload may have, the test file last."""
    return _archive(zipfile.ZIP_STORED, FILLER)


def dense_archive() -> Iterator[bytes]:
    """A small zip file that makes clamd scan as much as the large one, in members below any limit of one file."""
    return _archive(zipfile.ZIP_DEFLATED, _UNPACKED)


def _archive(compression: int, filler: int) -> Iterator[bytes]:
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", compression) as archive:
            for start in range(0, filler, _MEMBER):
                archive.writestr(f"filler-{start}", bytes(min(_MEMBER, filler - start)))
            archive.writestr("eicar.com", EICAR)
        file.seek(0)
        while chunk := file.read(_CHUNK):
            yield chunk
