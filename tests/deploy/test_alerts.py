"""``deploy/alerts.yml``: Prometheus reads it, and each rule is about a metric that the service has."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from modhub.admin.metrics import ProcessMetrics

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "alerts.yml"
FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki modhub_downloads "
    "modhub_profiles modhub_tags modhub_moderation modhub_metrics"
)


def promtool():
    unpacked = ROOT / "var" / "prometheus" / "usr" / "bin" / "promtool"
    return shutil.which("promtool") or str(unpacked)


def metrics_in(rules):
    expressions = re.findall(r"(?m)^ {8}expr: (?:>-\n((?: {10}.*\n)+)|(.*)$)", rules)
    return set(re.findall(r"\bmodhub_\w+", "\n".join("".join(pair) for pair in expressions)))


def test_prometheus_reads_the_rules():
    # C-RUN-19
    checked = subprocess.run([promtool(), "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked
    assert "12 rules found" in checked.stdout


WORKERS = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      # An hourly worker that fails from the second round on, one that fails now and then, and one that fails often.
      - {{series: 'modhub_worker_failed_rounds{{instance="a", worker="hourly"}}', values: '0x59 1x59 2x59 3x120'}}
      - {{series: 'modhub_worker_failed_rounds{{instance="a", worker="sometimes"}}', values: '0x59 2x59 0x59 2x120'}}
      - {{series: 'modhub_worker_failed_rounds{{instance="a", worker="often"}}', values: '0x9 3+2x20 0x200'}}
    alert_rule_test:
      - {{alertname: ModhubWorkerFails, eval_time: 3h10m, exp_alerts: []}}
      - alertname: ModhubWorkerFails
        eval_time: 3h20m
        exp_alerts:
          - exp_labels: {{severity: ticket, instance: a, worker: hourly}}
            exp_annotations: {{summary: "The worker of hourly fails on a."}}
      - alertname: ModhubWorkerFails
        eval_time: 28m
        exp_alerts:
          - exp_labels: {{severity: ticket, instance: a, worker: often}}
            exp_annotations: {{summary: "The worker of often fails on a."}}
  - interval: 10m
    input_series:
      # Seconds since 1970 are those since the start here. One round hangs; the other worker goes on.
      - {{series: 'modhub_worker_success_timestamp_seconds{{instance="a", worker="hangs"}}', values: '0x72'}}
      - {{series: 'modhub_worker_success_timestamp_seconds{{instance="a", worker="daily"}}', values: '0x72'}}
      - {{series: 'modhub_worker_success_timestamp_seconds{{instance="b", worker="hangs"}}', values: '0+600x72'}}
      - {{series: 'modhub_worker_interval_seconds{{instance="a", worker="hangs"}}', values: '600x72'}}
      - {{series: 'modhub_worker_interval_seconds{{instance="b", worker="hangs"}}', values: '600x72'}}
      - {{series: 'modhub_worker_interval_seconds{{instance="c", worker="hangs"}}', values: '600x72'}}
      - {{series: 'modhub_worker_interval_seconds{{instance="a", worker="daily"}}', values: '86400x72'}}
    alert_rule_test:
      - {{alertname: ModhubWorkerLate, eval_time: 6h, exp_alerts: []}}
      - alertname: ModhubWorkerLate
        eval_time: 7h
        exp_alerts:
          - exp_labels: {{severity: ticket, instance: a, worker: hangs}}
            exp_annotations: {{summary: "The worker of hangs on a last ended a round 7h 0m 0s ago."}}
"""
SCANNER = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      # One cannot reach the scanner, the other could not while it read its signatures.
      - {{series: 'modhub_scanner_down{{instance="a"}}', values: '0x9 1x30'}}
      - {{series: 'modhub_scanner_down{{instance="b"}}', values: '0x9 1x3 0x30'}}
    alert_rule_test:
      - {{alertname: ModhubScannerDown, eval_time: 14m, exp_alerts: []}}
      - alertname: ModhubScannerDown
        eval_time: 16m
        exp_alerts:
          - exp_labels: {{severity: page, instance: a}}
            exp_annotations: {{summary: "a cannot scan uploads, so they are refused; modhub-admin doctor says why."}}
"""


def check_alerts(folder, series):
    """Run the rules on series."""
    tests = folder / "series.yml"
    tests.write_text(series.format(rules=ALERTS), "utf-8")
    tested = subprocess.run([promtool(), "test", "rules", str(tests)], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_a_worker_that_fails_or_hangs_is_told_however_seldom_it_works(tmp_path):
    # C-RUN-19
    check_alerts(tmp_path, WORKERS)


def test_a_scanner_that_stays_down_is_told(tmp_path):
    # C-RUN-19, C-SCN-3
    check_alerts(tmp_path, SCANNER)


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_every_rule_is_about_a_metric_that_exists(start):
    # C-RUN-19
    settings = {"modhub__base_url": "https://mods.example.org", "modhub__mail_dir": "{folder}/mail"}
    site = start(FEATURES, modhub_moderation__scanner="clamd:///run/clamd.sock", **settings)
    families = ProcessMetrics(site.registry).collect()
    names = {f"{family.name}{'_total' if family.type == 'counter' else ''}" for family in families}
    named = metrics_in(ALERTS.read_text("utf-8"))
    assert len(named) > 9
    # Declared only in a process that serves, or by what it runs on.
    assert named - names <= {"modhub_server_waiting_requests"}
