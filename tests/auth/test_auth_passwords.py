"""Password rules, hashing and its queue."""

import threading
import time
from functools import partial

import pytest
from argon2.exceptions import HashingError, VerificationError, VerifyMismatchError
from argon2.low_level import error_to_str

from modhub.base.errors import ApiError
from modhub_auth.signin import passwords as passwords_module
from modhub_auth.signin.passwords import (
    MEMORY_KIB,
    HashingGate,
    QueuedHasher,
    normalize_password,
    validate_password,
)

WAIT = 60


def cheap(gate=None):
    return QueuedHasher(gate or HashingGate(), memory_kib=8, time_cost=1)


def refused(call):
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value


def test_ten_to_1024_characters_are_accepted_as_they_are_and_others_are_400():
    # C-ACC-5, T-C13
    for password in ("a" * 10, "a" * 1024, "  ten  ten ", "\0" * 10, "𝄞" * 10, "é" * 10):
        assert validate_password(password) == password
    for password in ("", "a" * 9, "𝄞" * 9, "e\u0301" * 9, "a" * 1025, "e\u0301" * 9 + "\ud800"):
        refusal = refused(partial(validate_password, password))
        assert (refusal.status, "password" in refusal.message) == (400, True)
    # Two ways to write one password are one.
    assert validate_password("e\u0301" * 10) == validate_password("é" * 10)
    assert normalize_password("ﬁ") == "ﬁ"


def test_parameters_are_no_less_than_owasp_asks_for():
    assert MEMORY_KIB == 19 * 1024
    assert "$m=19456,t=2,p=1$" in QueuedHasher(HashingGate()).hash("correct horse")


def test_nobody_is_verified_with_the_same_parameters():
    # C-ACC-7
    seen = []
    passwords = cheap()
    verify = passwords._hasher.verify

    class Spy:
        def verify(self, known, password):
            seen.append(known)
            return verify(known, password)

    passwords._hasher = Spy()
    passwords.verify(None, "whatever it is")
    assert not passwords.verify("not a hash", "whatever it is")
    del seen[1]
    passwords.verify(cheap().hash("whatever it is"), "whatever it is")
    first, second = ([*encoded.split("$")[:4], *map(len, encoded.split("$")[4:])] for encoded in seen)
    assert first == second
    with pytest.raises(VerifyMismatchError):  # and not because it could not be read, which takes no time
        verify(seen[0], "whatever it is")


class Crowd:
    """Threads that occupy the gate until they are released."""

    def __init__(self, gate):
        self.gate = gate
        self.inside = threading.Semaphore(0)
        self.go = threading.Event()
        self.refusals = []
        self.threads = []

    def _one(self):
        try:
            with self.gate.turn():
                self.inside.release()
                self.go.wait(WAIT)
        except ApiError as refusal:
            self.refusals.append(refusal.status)

    def send(self, count):
        fresh = [threading.Thread(target=self._one) for _ in range(count)]
        self.threads += fresh
        for thread in fresh:
            thread.start()

    def end(self):
        self.go.set()
        for thread in self.threads:
            thread.join(WAIT)


def test_few_are_inside_and_the_others_have_their_turn_later():
    # C-LIM-6
    crowd = Crowd(HashingGate(at_once=2, queue_size=5, wait_seconds=10 * WAIT))
    crowd.send(7)
    assert crowd.inside.acquire(timeout=WAIT)
    assert crowd.inside.acquire(timeout=WAIT)
    assert not crowd.inside.acquire(timeout=0.2)
    crowd.end()
    assert crowd.refusals == []
    assert all(crowd.inside.acquire(blocking=False) for _ in range(5))


def test_a_full_queue_is_busy_at_once(caplog):
    # C-LIM-6, T-D8
    crowd = Crowd(HashingGate(at_once=1, queue_size=1, wait_seconds=10 * WAIT))
    crowd.send(1)
    assert crowd.inside.acquire(timeout=WAIT)
    crowd.send(5)
    deadline = time.monotonic() + WAIT
    while len(crowd.refusals) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert crowd.refusals == [503] * 4
    crowd.end()
    assert crowd.refusals == [503] * 4
    assert caplog.messages == ["too many passwords wait to be hashed: registering and signing in get 503"]


def test_too_long_a_wait_is_busy_and_gives_the_place_back():
    # C-LIM-6, T-D8
    gate = HashingGate(at_once=1, queue_size=1, wait_seconds=0.05)

    def try_it():
        with gate.turn():
            pass

    with gate.turn():
        for _ in range(3):
            assert refused(try_it).code == "busy"
    try_it()


def test_who_left_while_waiting_is_not_hashed(monkeypatch):
    # T-D22
    crowd = Crowd(HashingGate(at_once=1, queue_size=5, wait_seconds=10 * WAIT))
    crowd.send(1)
    assert crowd.inside.acquire(timeout=WAIT)
    monkeypatch.setattr("modhub_auth.signin.passwords.caller_has_left", lambda: True)
    crowd.send(3)
    crowd.end()
    assert crowd.refusals == [503] * 3
    assert not crowd.inside.acquire(blocking=False)


def test_without_threads_it_is_busy_says_so_once_and_recovers_by_itself(monkeypatch, caplog):
    # C-RUN-28
    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    passwords = cheap()
    known = cheap().hash("correct horse")
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for call in (lambda: passwords.hash("x"), lambda: passwords.verify(known, "correct horse"), passwords.check):
            assert refused(call).code == "busy"
    assert [record.getMessage() for record in caplog.records] == [
        "ALARM: passwords cannot be hashed: can't start new thread"
    ]
    passwords.check()
    assert passwords.verify(known, "correct horse")


def test_without_memory_a_right_password_is_not_a_wrong_one():
    passwords = cheap()

    class Poor:
        def hash(self, _password):
            raise HashingError(error_to_str(-22))

        def verify(self, _known, _password):
            raise VerificationError(error_to_str(-22))

    passwords._hasher = Poor()
    assert refused(lambda: passwords.hash("correct horse")).code == "busy"
    assert refused(lambda: passwords.verify("any", "correct horse")).code == "busy"


def test_threads_that_could_not_begin_are_replaced(monkeypatch):
    begun = []

    def fail_once():
        begun.append(1)
        if len(begun) == 1:
            raise OSError

    monkeypatch.setattr(passwords_module, "_lower_priority", fail_once)
    passwords = cheap()
    assert passwords.verify(passwords.hash("correct horse"), "correct horse")
    passwords.check()
