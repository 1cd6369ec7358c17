"""A second process over the same database: makes the calls from standard input, all at once, until that ends.

In: a JSON line ``{"settings": {...}, "calls": [[path, body], ...]}``; prints ``ready``, starts at the next line.
Out: a JSON line ``{"answers": [[status, body], ...], "verified": <number of password checks>}``.
"""

import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

warnings.simplefilter("ignore")

from webtest import TestApp  # noqa: E402

import modhub  # noqa: E402
from modhub.base.service_registry import find_service  # noqa: E402
from modhub.db import Databases  # noqa: E402
from modhub_auth.container import AuthServices  # noqa: E402
from modhub_auth.signin.passwords import HashingGate, QueuedHasher  # noqa: E402


class Counting(QueuedHasher):
    verified = 0

    def verify(self, known: str | None, password: str) -> bool:
        self.verified += 1
        return super().verify(known, password)


def contend(job: dict) -> None:
    config = modhub.configure(job["settings"])
    find_service(config.registry, AuthServices).passwords = passwords = Counting(
        HashingGate(), memory_kib=8, time_cost=1
    )
    app = TestApp(config.make_wsgi_app())

    def call(request: list) -> list:
        answer = app.post_json(request[0], request[1], expect_errors=True)
        return [answer.status_int, answer.json if answer.body else None]

    with ThreadPoolExecutor(len(job["calls"])) as pool:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        answers = list(pool.map(call, job["calls"]))
    sys.stdout.write(json.dumps({"answers": answers, "verified": passwords.verified}) + "\n")
    sys.stdout.flush()
    find_service(config.registry, Databases).dispose()


for line in sys.stdin:
    contend(json.loads(line))
