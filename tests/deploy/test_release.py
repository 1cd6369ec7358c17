"""Steps of docs/releasing.md that nothing else runs."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_snapshot_for_the_upgrade_test_has_rows_in_every_table():
    record = ROOT / "tests/functional/upgrades/record.py"
    recorded = subprocess.run([sys.executable, "-W", "ignore", record], capture_output=True, text=True, check=False)
    # The script itself refuses an empty table.
    assert recorded.returncode == 0, recorded.stderr
    assert {"auth_publisher_key", "downloads_day", "following_follow", "sync_snapshot"} <= set(
        json.loads(recorded.stdout)["tables"]
    )
