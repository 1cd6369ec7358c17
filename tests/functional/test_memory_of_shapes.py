"""A process remembers nothing of the shapes of requests: thousands of them take no memory for good."""

import http.client
from collections import Counter
from collections.abc import Iterable

import pytest

from modhub_testing.shapes import Shape, make_shapes

pytestmark = pytest.mark.long

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync "
    "modhub_wiki modhub_downloads modhub_profiles modhub_tags modhub_moderation"
)
WARM_UP = 1_000
SHAPES = 5_000
MB = 1024 * 1024
TIMEOUT = 200.0


def send(port: int, shapes: Iterable[Shape]) -> Counter[int]:
    """Send all over one connection, as far as the service keeps it; return how many had each status."""
    statuses: Counter[int] = Counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    for shape in shapes:
        connection.request(shape.method, shape.path, shape.body or None, dict(shape.headers))
        answer = connection.getresponse()
        answer.read()
        statuses[answer.status] += 1
    connection.close()
    return statuses


def test_five_thousand_shapes_of_requests_take_no_memory(services, kind):
    # T-D19
    installation = services(kind, 1, includes=FEATURES)
    process = installation.processes[0]
    statuses = send(process.port, make_shapes(WARM_UP, seed=1))
    before = process.memory("VmRSS")
    statuses += send(process.port, make_shapes(SHAPES, seed=2))
    grown = process.memory("VmRSS") - before
    assert grown < 20 * MB, f"{grown / MB:.1f} MB"
    assert not {status for status in statuses if status >= 500} - {501}, statuses
    assert statuses[200] > SHAPES / 4, statuses
    installation.stop()
