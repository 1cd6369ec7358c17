"""Compares how long rejected sign-ins take (C-ACC-7; T-C5): ``python -m bench.sign_in [ROUNDS]``.

One process, one connection, the kinds in random order in each round, so that other load affects all alike. Prints
medians as ratios to a wrong password at a confirmed address. Fails if two responses differ.
"""

import json
import random
import re
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench.client import Client
from modhub_testing.service import PASSWORD, Installation

ROUNDS = 400
VARYING = re.compile(rb"\r\n(Date|X-Request-Id): [^\r]*", re.IGNORECASE)
SETTINGS = {
    "modhub_auth.failures": "1000000",
    "modhub_auth.register_limit": "1000",
    "modhub_auth.require_verified": "true",
}
KINDS = {
    "wrong password": "confirmed@example.org",
    "unknown address": "nobody@example.org",
    "another unknown address": "stranger@example.org",
    "platform-only account": "platform@example.org",
    "unconfirmed address": "unconfirmed@example.org",
    "invalid address": "platform",
}


def create_accounts(service: Installation) -> None:
    for name in ("confirmed", "unconfirmed", "platform"):
        service.register(name)
    with closing(service.connect()) as connection:
        connection.execute("UPDATE auth_login SET verified = 1 WHERE subject LIKE 'confirmed%'")
        # A platform-only account: a login without password and email address.
        connection.execute(
            "UPDATE auth_login SET kind = 'Platform', platform = 'steam', subject = '7656', password_hash = NULL "
            "WHERE subject LIKE 'platform%'"
        )


def try_sign_in(client: Client, email: str) -> tuple[float, bytes]:
    """The seconds, and the response without its varying headers."""
    body = json.dumps({"email": email, "password": f"{PASSWORD}!"}).encode()
    started = time.perf_counter()
    client.send("POST", "/api/auth/login", body=body)
    status, _, answer = client.receive(keep_body=True)
    seconds = time.perf_counter() - started
    assert status == 401, answer
    return seconds, VARYING.sub(b"", answer)


def measure(service: Installation, rounds: int) -> dict[str, list[float]]:
    client, times, responses = Client(service.processes[0].port), {kind: [] for kind in KINDS}, set()
    try:
        for number in range(rounds + 5):
            for kind in random.sample(list(KINDS), len(KINDS)):
                seconds, response = try_sign_in(client, KINDS[kind])
                responses.add(response)
                if number >= 5:
                    times[kind].append(seconds)
    finally:
        client.close()
    assert len(responses) == 1, responses
    return times


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        service = Installation(Path(folder), f"sqlite:///{folder}/bench.sqlite", "modhub_auth", settings=SETTINGS)
        try:
            migrated = service.admin("migrate")
            assert migrated.returncode == 0, migrated.stderr
            service.start()
            create_accounts(service)
            times = measure(service, rounds)
        finally:
            service.stop()
    base = statistics.median(times["wrong password"])
    for kind, seconds in times.items():
        low, middle, high = statistics.quantiles(seconds, n=4)
        print(f"{kind:26} {middle / base:6.3f}   {middle * 1000:.1f} ms ({low * 1000:.1f} to {high * 1000:.1f})")


if __name__ == "__main__":
    main()
