"""All files of a plan, some at a time: if one fails, the others stop, and what has arrived is kept for the next run."""

from collections.abc import Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from modhub_client.get.progress import TransferBar
from modhub_client.get.service import ModhubService, Stopped
from modhub_client.get.transfer import Transfer, fetch


def fetch_all(service: ModhubService, transfers: Iterable[Transfer], bar: TransferBar, jobs: int) -> None:
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
