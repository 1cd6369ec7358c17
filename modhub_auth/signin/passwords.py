"""Passwords: which are refused, and their hashes."""

import logging
import os
import re
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from argon2 import PasswordHasher
from argon2.exceptions import HashingError, InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION, error_to_str

from modhub.base.errors import ApiError, busy, invalid
from modhub.base.optional_calls import optional_call
from modhub.base.peers import caller_has_left
from modhub.base.repeated_lines import log_alarm, log_sometimes
from modhub.content.text import normal

# Passwords that attackers try first: common ones, keyboard patterns, and words that the account suggests.
#
# The list in ``common_passwords.txt`` holds no password of less than ten characters: the rules refuse those anyway.


COMMON_PASSWORD_LINES: Final = (
    *("abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"),
    *("qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn"),
    *("1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm"),
)
"""Rows and columns of keyboards, and the alphabet; each counts in both directions."""
_KEYBOARD_STEPS: Final = frozenset(
    pair
    for line in (*COMMON_PASSWORD_LINES, *(line[::-1] for line in COMMON_PASSWORD_LINES))
    for pair in pairwise(line)
)
COMMON_WORDS: Final = frozenset(
    """
    passwort passwd kennwort zugang geheim sicher willkommen hallo schatz liebe engel mama papa familie
    start login user root guest gast server support default initial temp temporary gamer gaming
    frühling fruehling sommer herbst autumn sonne prinzessin drache fussball schalke bayern dortmund hamburg münchen
    januar january februar february märz maerz march april juni june juli july september oktober dezember
    montag dienstag tuesday mittwoch wednesday donnerstag thursday freitag samstag saturday sonntag sunday
    """.split()  # noqa: SIM905 - words are read more easily than a list of strings
)
"""Words common in passwords, mainly German ones, that the list lacks."""
_LOOKALIKES: Final = str.maketrans("@4301!5$7", "aaeoiisst")
_YEAR: Final = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
MAX_STEPS: Final = 6
"""Up to this many steps around a known word add nothing. A row of keys and a year are one step each."""
_MIN_WORD: Final = 4
"""The length of a word that counts; shorter ones occur in too many others."""
_WORD: Final = re.compile(r"[^\W_]+")


def common_password_error() -> ApiError:
    """400: the password is common, and the operator refuses common passwords."""
    message = "The field %(field)s holds a password that is tried first by attackers; choose another."
    return ApiError(400, "common_password", message, values={"field": "password"})


def password_warning(hidden: dict[str, str]) -> ApiError:
    """400 on pages: the password is common. With the ``hidden`` fields it is accepted the next time."""
    return ApiError(400, "password_warning", "This password is too common.", hidden=hidden)


def guessable_words(settings: Mapping[str, Any], *personal: str) -> set[str]:
    """The words an attacker would try for this service and account: names, addresses, and their parts (C-ACC-21)."""
    parts = (part for text in personal for part in (text, text.partition("@")[0], text.partition("@")[2]))
    texts = ["modhub", settings["modhub.site_name"], urlsplit(settings["modhub.base_url"]).hostname or "", *parts]
    words = {text.casefold() for text in texts}
    words |= {word for text in texts for word in _WORD.findall(text.casefold())}
    words |= {"".join(_WORD.findall(text.casefold())) for text in texts}
    return {word for word in words if len(word) >= _MIN_WORD}


def is_common(password: str, words: Iterable[str] = ()) -> bool:
    """Whether an attacker tries ``password``, of at least ten characters, among the first few thousand.

    ``words``: see :func:`guessable_words`.
    """
    folded = password.casefold()
    core = folded.strip("".join({character for character in folded if not character.isalpha()}))
    return (
        folded in _common_passwords()
        or (_is_common_word(core) and _guess_steps(folded.replace(core, "", 1)) <= MAX_STEPS)
        or _is_pattern(folded)
        or any(word in folded and _guess_steps(folded.replace(word, "")) <= MAX_STEPS for word in words)
    )


def _is_common_word(core: str) -> bool:
    """Whether it is one word or one row of keys. Digits and signs in it may stand for letters."""
    plain = core.translate(_LOOKALIKES)
    is_listed = not _common_passwords().isdisjoint((core, plain))
    return is_listed or plain in COMMON_WORDS or (len(core) > 3 and not _count_leaps(core))


def _is_pattern(folded: str) -> bool:
    """Whether it has few different characters, repeats a short text, or mostly follows the keyboard or alphabet."""
    period = (folded + folded).find(folded, 1)
    return len(set(folded)) <= 3 or period < min(10, len(folded)) or _count_leaps(folded) * 4 <= len(folded)


def _guess_steps(padding: str) -> int:
    """The number of steps to guess the characters around a word."""
    shortened = _YEAR.sub("0", padding)
    return _count_leaps(shortened) + bool(shortened)


def _count_leaps(text: str) -> int:
    """How often the next character is neither the same key nor a neighbouring one."""
    return sum(first != second and (first, second) not in _KEYBOARD_STEPS for first, second in pairwise(text))


@cache
def _common_passwords() -> frozenset[str]:
    lines = (files("modhub_auth") / "common_passwords.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


# Password rules, and argon2id behind a gate so that a burst of sign-ins does not slow down browsing (C-ACC-5).
#
# Gates and hashers belong to one application; the module holds no state.


log = logging.getLogger(__name__)

MIN_PASSWORD: Final = 10
MAX_PASSWORD: Final = 1024
"""Code points after NFC."""
_MAX_NFC_JOIN: Final = 4  # NFC joins at most four code points into one: a longer text is too long in any case.

MEMORY_KIB: Final = 19 * 1024
TIME_COST: Final = 2
PARALLELISM: Final = 1
"""OWASP's minimum. With 64 MiB on four threads, sixteen sign-ins slowed a list of mods to 1.1 s."""

_MEMORY_ERROR: Final = error_to_str(-22)
"""argon2 says only by its sentence that a password could not be verified for want of memory."""

Result = TypeVar("Result")

HASHES_AT_ONCE: Final = 2
HASH_QUEUE_SIZE: Final = 64
HASH_WAIT_SECONDS: Final = 15.0
HASH_NICENESS: Final = 10
"""Of the threads that hash. While 16 clients signed in, the median of a list fell from 2.5 ms to 0.4 on two cores."""


def normalize_password(value: str) -> str:
    """The password in NFC, otherwise unchanged; 400 when it cannot be encoded (C-TXT-1)."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid("The field %(field)s is not valid text.", field="password") from None
    return value if len(value) > MAX_PASSWORD * _MAX_NFC_JOIN else normal("NFC", value)


def validate_password(value: str) -> str:
    """The normalized password to hash; 400 unless it has 10 to 1024 characters."""
    password = normalize_password(value)
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        sentence = "The field %(field)s must have %(least)s to %(most)s characters."
        raise invalid(sentence, field="password", least=MIN_PASSWORD, most=MAX_PASSWORD)
    return password


class HashingGate:
    """Limits how many callers run at once and how many wait; the others get 503 ``busy``."""

    def __init__(
        self, at_once: int = HASHES_AT_ONCE, queue_size: int = HASH_QUEUE_SIZE, wait_seconds: float = HASH_WAIT_SECONDS
    ) -> None:
        self._turns = threading.BoundedSemaphore(at_once)
        self._queue = threading.BoundedSemaphore(queue_size)
        self._wait_seconds = wait_seconds

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn and hold it during the block; 503 when the queue is full or the wait too long."""
        if not self._turns.acquire(blocking=False):
            self._wait()
        try:
            yield
        finally:
            self._turns.release()

    def _wait(self) -> None:
        if not self._queue.acquire(blocking=False):
            raise _too_many()
        try:
            if not self._turns.acquire(timeout=self._wait_seconds):
                raise _too_many()
            if caller_has_left():
                self._turns.release()
                raise busy()
        finally:
            self._queue.release()


def _too_many() -> ApiError:
    log_sometimes(log, logging.WARNING, "too many passwords wait to be hashed: registering and signing in get 503")
    return busy()


def _lower_priority() -> None:
    """Let requests that somebody waits for go first. Only Linux has a priority for each thread."""
    if sys.platform == "linux":
        with optional_call("setpriority", "lists are slower while people sign in"):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), HASH_NICENESS)


def _start_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(HASHES_AT_ONCE, "modhub hashing", initializer=_lower_priority)


def _unmatched_hash(hasher: PasswordHasher) -> str:
    """A hash that no password has, as argon2 writes it: random, because computing one takes as long as a sign-in."""
    parameters = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    salt, digest = (b64encode(os.urandom(size)).decode().rstrip("=") for size in (hasher.salt_len, hasher.hash_len))
    return f"$argon2id$v={ARGON2_VERSION}${parameters}${salt}${digest}"


class QueuedHasher:
    """Hashes and verifies passwords. It is slow: never call it during a database transaction.

    It uses a few threads of its own. The C library keeps an arena with the memory of a hash for every thread that has
    hashed: in the server's threads a burst of sign-ins left hundreds of MB behind.
    """

    def __init__(self, gate: HashingGate, memory_kib: int = MEMORY_KIB, time_cost: int = TIME_COST) -> None:
        self._gate = gate
        self._hasher = PasswordHasher(time_cost=time_cost, memory_cost=memory_kib, parallelism=PARALLELISM)
        self._dummy = _unmatched_hash(self._hasher)
        self._threads = _start_threads()
        self._renewing = threading.Lock()
        self._works: bool | None = None

    def check(self) -> None:
        """Raise 503 ``busy`` if this process cannot hash. It tries once, and again only after a failure: it is slow."""
        if not self._works:
            self.hash("a password of nobody")

    def hash(self, password: str) -> str:
        """The argon2id hash with its salt and parameters. 503 ``busy`` when the queue is full, or it cannot hash."""
        return self._run_queued(lambda: self._hasher.hash(password))

    def verify(self, stored_hash: str | None, password: str) -> bool:
        """Whether ``password`` matches ``stored_hash``; None, for an unknown login, takes as long (C-ACC-7)."""
        may_match = stored_hash is not None and len(password) <= MAX_PASSWORD
        checked_hash = stored_hash if may_match and stored_hash else self._dummy
        return self._run_queued(lambda: self._matches(checked_hash, password[:MAX_PASSWORD])) and may_match

    def _matches(self, stored_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored_hash, password)
        except InvalidHashError:
            return False
        except VerificationError as error:
            if str(error) == _MEMORY_ERROR:
                raise MemoryError from error
            return False

    def _run_queued(self, task: Callable[[], Result]) -> Result:
        with self._gate.turn():
            try:
                result = self._run(task)
            except (RuntimeError, HashingError, MemoryError) as error:  # no thread, or no memory
                if self._works is not False:
                    log_alarm(log, "passwords cannot be hashed: %s", error or type(error).__name__)
                self._works = False
                raise busy() from error
            self._works = True
            return result

    def _run(self, task: Callable[[], Result]) -> Result:
        """Run in one of the threads. One that could not begin has broken them all for good: then in new ones."""
        threads = self._threads
        try:
            return threads.submit(task).result()
        except BrokenExecutor:
            with self._renewing:
                if self._threads is threads:
                    self._threads = _start_threads()
            return self._threads.submit(task).result()
