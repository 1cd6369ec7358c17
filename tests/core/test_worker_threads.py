"""`WorkerThread`: when it works, when it cleans up, how it ends."""

from queue import Queue
from threading import Event

from modhub.workers.worker_threads import WorkerThread

PATIENCE = 60.0


def test_it_works_until_it_is_stopped_and_cleans_up_first_and_now_and_then() -> None:
    runs: Queue[tuple[float, bool]] = Queue()

    def work(wait: float, *, clean_up: bool) -> float:
        runs.put((wait, clean_up))
        return 0.01

    thread = WorkerThread("test", work, cleanup_seconds=0.025)
    thread.start(0.0)
    first_runs = [runs.get(timeout=PATIENCE) for _ in range(7)]
    thread.stop()
    assert [wait for wait, _ in first_runs] == [0.0, *[0.01] * 6]
    assert [clean_up for _, clean_up in first_runs] == [True, False, False, True, False, False, True]


def test_a_stop_ends_a_long_run_and_waits_for_it() -> None:
    began, may_end, ended = Event(), Event(), Event()

    def work(_wait: float, *, clean_up: bool) -> float:
        began.set()
        assert may_end.wait(PATIENCE)
        assert thread.is_stopping
        ended.set()
        return 0.0

    thread = WorkerThread("test", work, on_stop=may_end.set)
    thread.start(0.0)
    assert began.wait(PATIENCE)
    thread.stop()
    assert ended.is_set()


def test_a_run_that_takes_too_long_is_left_to_itself() -> None:
    may_end = Event()

    def work(_wait: float, *, clean_up: bool) -> float:
        may_end.wait(PATIENCE)
        return 0.0

    thread = WorkerThread("test", work, stop_seconds=0.01)
    thread.start(0.0)
    thread.stop()
    assert not may_end.is_set()
    may_end.set()
    WorkerThread("never started", work).stop()
