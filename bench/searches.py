"""Searches that nothing was kept of, with their exact totals."""

import json
from pathlib import Path
from typing import Final

from bench import servers
from bench.client import Client
from bench.load import load
from bench.measuring import Row

GOAL_MS: Final = 10
"""For 100,000 mods; more may take longer in proportion."""
SHORT_GOAL_MS: Final = 100
"""For words of one and two letters."""
QUERIES: Final = {
    "search, a common word": "?q=amber",
    "search, two words": "?q=amber+basalt",
    "search, two letters": "?q=ju",
    "search, a rare word": "?q=4711",
    "list, page 400": "?page=400",
    "list, best first": "?sort=top",
    "list, one game": "?game=portal",
    "search, a common word in a game": "?q=amber&game=portal",
}


def searches(folder: Path, database: str, url: str, seconds: float, mods: int) -> list[Row]:
    """The median time of each, over one connection, without kept responses."""
    rows, hundred_thousands = [], max(1.0, mods / 100_000)
    ini = servers.write_ini(folder, f"searches-{database}", url, includes=servers.NOTHING_KEPT)
    with servers.pserve(folder, ini) as (_, port):
        client = Client(port)
        for what, query in QUERIES.items():
            path = f"/api/modhub{query}"
            status, _, answer = client.get(path, keep_body=True)
            assert status == 200, (path, status)
            total = json.loads(answer.partition(b"\r\n\r\n")[2])["total"]
            result = load(port, path, seconds=seconds)
            details = {"total": total, "p99_ms": round(result.percentile(0.99) * 1e3, 2)}
            value = result.percentile(0.5) * 1e3
            goal = (SHORT_GOAL_MS if what == "search, two letters" else GOAL_MS) * hundred_thousands
            rows.append(Row(what, database, value, "ms", at_most=goal, details=details))
        client.close()
    return rows
