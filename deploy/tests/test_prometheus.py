# SPDX-License-Identifier: Apache-2.0
"""Metrics, rules and dashboards against a real Prometheus."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import NODE, PORT, REPOSITORY, Live, eventually
from prometheus_client import parser as older
from prometheus_client.openmetrics.parser import text_string_to_metric_families

DEPLOY = REPOSITORY / "deploy"
RULES = DEPLOY / "prometheus" / "tidemark.rules.yml"
REFERENCE = REPOSITORY / "docs" / "reference" / "metrics.md"
# Filled in by Grafana.
VARIABLES = {
    "$node": str(NODE),
    "$port": str(PORT),
    "$instance": ".*",
    "$__rate_interval": "30s",
}


def promtool(*arguments: object, text: str | None = None) -> None:
    command = ["promtool", *(str(a) for a in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, input=text)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_configuration_and_rules():
    promtool("check", "config", DEPLOY / "prometheus" / "prometheus.yml")
    promtool("check", "rules", RULES)
    promtool("test", "rules", DEPLOY / "prometheus" / "tidemark.rules_test.yml")


def test_dashboards_are_generated():
    generate = DEPLOY / "grafana" / "generate.py"
    subprocess.run([sys.executable, generate, "--check"], check=True)


def documented() -> set[str]:
    """Every metric of docs/reference/metrics.md by its full name."""
    names, prefix, suffix = set(), "", ""
    for line in REFERENCE.read_text().splitlines():
        if found := re.search(r"all with the prefix `(\w+)`", line, re.IGNORECASE):
            prefix = found[1]
        elif line.startswith(("| counter", "| gauge")):
            suffix = "_total" if line.startswith("| counter") else ""
        elif found := re.match(r"\| `(\w+)` \|", line):
            names.add(prefix + found[1] + suffix)
    assert len(names) > 100
    return names


def expressions(path: Path) -> list[str]:
    panels = json.loads(path.read_text())["panels"]
    found = [t["expr"] for p in panels for t in p.get("targets", []) if "expr" in t]
    for variable, value in VARIABLES.items():
        found = [e.replace(variable, value) for e in found]
    return found


BOARDS = [DEPLOY / "grafana" / "dashboards" / f"{b}.json" for b in ("link", "collector")]


def alerts() -> dict[str, str]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {r["alert"]: r["expr"] for g in groups for r in g["rules"]}


def test_only_documented_metrics_are_asked_for():
    known = documented()
    for text in [*alerts().values(), *(e for b in BOARDS for e in expressions(b))]:
        used = set(re.findall(r"tidemark_\w+", text))
        assert used <= known, used - known
    assert len([e for b in BOARDS for e in expressions(b)]) > 40


@pytest.mark.parametrize("program", ["collector", "controller"])
def test_metrics_are_openmetrics_and_by_convention(live: Live, program: str):
    text = live.metrics(program)
    families = list(text_string_to_metric_families(text))
    assert len(families) > 20
    # promtool reads the older format.
    classic = []
    for family in families:
        name = family.name + ("_total" if family.type == "counter" else "")
        classic += [f"# HELP {name} {family.documentation}", f"# TYPE {name} {family.type}"]
        for s in family.samples:
            labels = ",".join(f'{k}="{v}"' for k, v in s.labels.items())
            classic.append(f"{s.name}{{{labels}}} {s.value}")
    promtool("check", "metrics", text="\n".join(classic) + "\n")
    shown = {s.name for f in families for s in f.samples}
    assert shown <= documented(), shown - documented()


def test_metrics_of_the_switch_are_by_convention(switch_metrics: str):
    """It writes the older format itself."""
    promtool("check", "metrics", text=switch_metrics)
    families = list(older.text_string_to_metric_families(switch_metrics))
    shown = {s.name for f in families for s in f.samples}
    assert "tidemark_switch_tx_packets_total" in shown
    assert shown <= documented(), shown - documented()
    ports = {s.labels.get("port") for f in families for s in f.samples}
    assert ports == {None, "1"}


@pytest.mark.parametrize("board", BOARDS, ids=lambda b: b.stem)
def test_every_panel_has_data(live: Live, board: Path):
    empty = [e for e in expressions(board) if not live.query(e)]
    assert empty == []


def test_every_alert_is_evaluated(live: Live):
    for name, expr in alerts().items():
        live.query(expr)
        assert live.query(f'ALERTS{{alertname="{name}"}}') is not None
    # Nobody is at the switch's address.
    assert live.query(alerts()["TidemarkSwitchNotReady"])
    assert not live.query(alerts()["TidemarkCollectorNotSubscribed"])
    assert not live.query(alerts()["TidemarkReportsLost"])


def test_prometheus_has_the_numbers(live: Live):
    truth = json.loads((live.directory / "truth.json").read_text())
    link = f'{{node="{NODE}",port="{PORT}"}}'
    n_b = live.value(f"last_over_time(tidemark_controller_locally_bottlenecked_flows{link}[2m])")
    assert n_b == pytest.approx(truth["n_flows"]["lbp"], abs=2)
    sent = truth["capture"]["reports_sent"]
    reports = "tidemark_collector_reports_total"
    eventually("Prometheus has read the last report", lambda: live.value(reports) == sent)
    assert live.value("tidemark_collector_reports_lost_total") == 0
    assert live.value("tidemark_collector_join_matched_ratio") > 0.99
    assert live.value(f"tidemark_controller_target_delay_seconds{link}") == 0.05
