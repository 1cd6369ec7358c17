"""``deploy/alerts.yml``: Prometheus reads it, and each rule is about a metric that the service has."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from modhub_metrics.exporter import PREFIX, Exporter
from modhub_testing import Start

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "alerts.yml"
FEATURES = "modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki modhub_downloads modhub_profiles modhub_tags modhub_metrics"


def promtool() -> str:
    unpacked = ROOT / "var" / "prometheus" / "usr" / "bin" / "promtool"
    return shutil.which("promtool") or str(unpacked)


def metrics_in(rules: str) -> set[str]:
    expressions = re.findall(r"(?m)^ {8}expr: (?:>-\n((?: {10}.*\n)+)|(.*)$)", rules)
    return set(re.findall(rf"\b{PREFIX}\w+", "\n".join("".join(pair) for pair in expressions)))


def test_prometheus_reads_the_rules() -> None:
    # C-RUN-49
    checked = subprocess.run([promtool(), "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked
    assert "16 rules found" in checked.stdout


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_every_rule_is_about_a_metric_that_exists(start: Start) -> None:
    # C-RUN-49
    site = start(FEATURES, modhub__base_url="https://mods.example.org", modhub__mail_dir="{folder}/mail")
    families = site.find_service(Exporter).collectors.collect()
    names = {f"{family.name}{'_total' if family.type == 'counter' else ''}" for family in families}
    named = metrics_in(ALERTS.read_text("utf-8"))
    assert len(named) > 12
    # Declared only in a process that serves, or by what it runs on.
    assert named - names <= {"modhub_server_waiting_requests"}
