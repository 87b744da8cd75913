# SPDX-License-Identifier: Apache-2.0
"""Metrics, rules and dashboards against a real Prometheus."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from conftest import BIN_DIR, NODE, OPENMETRICS, PORT, REPOSITORY, TEXT, Live, eventually
from prometheus_client import parser as older
from prometheus_client.openmetrics.parser import text_string_to_metric_families

DEPLOY = REPOSITORY / "deploy"
RULES = DEPLOY / "prometheus" / "tidemark.rules.yml"
REFERENCE = REPOSITORY / "docs" / "reference" / "metrics.md"
LINK = f'{{node="{NODE}",port="{PORT}"}}'
# Grafana's variables.
VARIABLES = {
    "$node": str(NODE),
    "$port": str(PORT),
    "$queue": "0",
    "$instance": ".*",
    "$__rate_interval": "10s",
    "$__interval": "15s",
}
# Queries without data in the replayed run, and why.
EMPTY = {
    "offset 15s": "the run's limit never changes: test_a_change_of_the_limit_is_marked",
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


# Suffixes of full metric names, by kind.
SUFFIXES = {
    "counter": ["_total"],
    "histogram": ["_bucket", "_sum", "_count"],
    "gauge": [""],
    "info": [""],
}


def documented() -> set[str]:
    """Returns every metric of docs/reference/metrics.md by its full names."""
    names, prefix, suffixes = set(), "", [""]
    for line in REFERENCE.read_text().splitlines():
        if found := re.search(r"all with the prefix `(\w+)`", line, re.IGNORECASE):
            prefix = found[1]
        elif (found := re.match(r"\| (\w+) \|", line)) and found[1] in SUFFIXES:
            suffixes = SUFFIXES[found[1]]
        elif found := re.match(r"\| `(\w+)`(?: `[^`]*`)? \|", line):
            names |= {prefix + found[1] + suffix for suffix in suffixes}
    assert len(names) > 100
    return names


def filled_in(query: str) -> str:
    for variable, value in VARIABLES.items():
        query = query.replace(variable, value)
    return query


def expressions(path: Path) -> list[str]:
    """Returns expressions of panels and annotations."""
    board = json.loads(path.read_text())
    targets = [t for p in board["panels"] for t in p.get("targets", [])]
    found = [t["expr"] for t in targets + board["annotations"].get("list", []) if "expr" in t]
    return [filled_in(e) for e in found]


DASHBOARDS = DEPLOY / "grafana" / "dashboards"
BOARDS = sorted(DASHBOARDS.glob("*.json"))
DRAWN = [b for b in BOARDS if expressions(b)]


def alerts() -> dict[str, str]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {r["alert"]: r["expr"] for g in groups for r in g["rules"]}


def test_only_documented_metrics_are_asked_for():
    known = documented()
    assert [b.stem for b in DRAWN] == ["collector", "link", "links"]
    for text in [*alerts().values(), *(e for b in DRAWN for e in expressions(b))]:
        used = set(re.findall(r"tidemark_\w+", text))
        assert used <= known, used - known
    assert len([e for b in DRAWN for e in expressions(b)]) > 60


def samples(families: list) -> dict[tuple, float]:
    found = (
        (s.name, tuple(sorted(s.labels.items())), s.value) for f in families for s in f.samples
    )
    return {(name, labels): value for name, labels, value in found}


def check_metrics(program: str, text: str, openmetrics: str) -> set[tuple]:
    """Checks that promtool reads both formats without complaint, that they have the same series,
    and that all of these are documented."""
    promtool("check", "metrics", text=text)
    assert openmetrics.endswith("# EOF\n") and "# EOF" not in text
    in_text = samples(list(older.text_string_to_metric_families(text)))
    families = list(text_string_to_metric_families(openmetrics))
    assert len(families) > 20
    series = samples(families).keys()
    assert series == in_text.keys()
    shown = {name for name, _ in series}
    assert shown <= documented(), shown - documented()
    assert in_text[build_info(program, series)] == 1
    return set(series)


def build_info(program: str, series: set[tuple]) -> tuple:
    """Returns the program's build info, which must have the version that the program prints."""
    (info,) = (s for s in series if s[0] == f"tidemark_{program}_build_info")
    said = subprocess.run([BIN_DIR / f"tidemark-{program}", "--version"], capture_output=True)
    labels = dict(info[1])
    version = f"tidemark-{program} {labels['version']} ({labels['revision'] or 'unknown commit'})"
    assert said.stdout.decode().strip() == version
    return info


@pytest.mark.parametrize("program", ["collector", "controller"])
def test_metrics_are_by_convention_in_both_formats(live: Live, program: str):
    check_metrics(program, live.metrics(program, TEXT), live.metrics(program, OPENMETRICS))


def test_metrics_of_the_switch_are_by_convention(switch_metrics: dict[str, str]):
    series = check_metrics("switch", switch_metrics[TEXT], switch_metrics[OPENMETRICS])
    assert "tidemark_switch_tx_packets_total" in {name for name, _ in series}
    assert {dict(labels).get("port") for _, labels in series} == {None, "1"}


@pytest.mark.parametrize("board", DRAWN, ids=lambda b: b.stem)
def test_every_panel_has_data(live: Live, board: Path):
    for expr in expressions(board):
        why_empty = [why for part, why in EMPTY.items() if part in expr]
        assert bool(live.drawn(expr)) != bool(why_empty), (expr, why_empty)


def test_a_change_of_the_limit_is_marked(tmp_path: Path):
    """Marked once, with the new limit, and only at its own link."""
    (marks,) = json.loads((DASHBOARDS / "link.json").read_text())["annotations"]["list"]
    limit = "tidemark_controller_limit_bytes"
    labels = f'node="{NODE}",instance="a",job="tidemark-controller"'
    series = [
        {"series": f'{limit}{{{labels},port="{PORT}",queue="0"}}', "values": "100000x4 250000x5"},
        {"series": f'{limit}{{{labels},port="{PORT}",queue="3"}}', "values": "1x7 2x2"},
        {"series": f'{limit}{{{labels},port="99",queue="0"}}', "values": "1x7 2x2"},
    ]
    at_queue = f'{{limit="250000",node="{NODE}",port="{PORT}",queue="0"}}'
    mark = {"labels": at_queue, "value": 1}
    asked = [
        {"expr": filled_in(marks["expr"]), "eval_time": f"{at}s", "exp_samples": expected}
        for at, expected in [(0, []), (60, []), (75, [mark]), (90, []), (120, [])]
    ]
    test = {"interval": "15s", "input_series": series, "promql_expr_test": asked}
    path = tmp_path / "test.yml"
    path.write_text(yaml.safe_dump({"tests": [test]}))
    promtool("test", "rules", path)


def choices(live: Live, variable: dict) -> list[tuple[str, str]]:
    """Returns text and value of the options that Grafana offers for a variable."""
    query = filled_in(variable["query"])
    if found := re.fullmatch(r"label_values\((.+), (\w+)\)", query):
        series = live.ask("series", **{"match[]": found[1]})
        values = sorted({s[found[2]] for s in series})
        return [(value, value) for value in values]
    expr = re.fullmatch(r"query_result\((.+)\)", query)[1]
    pattern = variable["regex"].strip("/").replace("(?<", "(?P<")
    offered = []
    for one in live.query(expr):
        name = one["metric"].pop("__name__", "")
        labels = ",".join(f'{k}="{v}"' for k, v in one["metric"].items())
        at, value = one["value"]
        found = re.search(pattern, f"{name}{{{labels}}} {value} {at * 1000:.0f}")
        groups = found.groupdict()
        value = groups.get("value", found[1])
        offered.append((groups.get("text") or value, value))
    return offered


def test_variables_offer_links_by_name(live: Live):
    offered = {}
    for board in BOARDS:
        variables = json.loads(board.read_text())["templating"]["list"]
        for v in variables:
            if v.get("datasource", {}).get("type") == "prometheus":
                offered[board.stem, v["name"]] = choices(live, v)
    assert offered.pop(("collector", "instance"))
    assert offered == {
        ("link", "node"): [("simulated", str(NODE))],
        ("link", "port"): [("bottleneck", str(PORT))],
        ("link", "queue"): [("0", "0")],
        ("packets", "capacity_bps"): [("50000000", "50000000")],
    }


def test_links_are_drawn_by_name(live: Live):
    named = [e for e in expressions(DASHBOARDS / "links.json") if "link_info" in e]
    assert len(named) > 10
    for expr in named:
        (labels,) = live.drawn(expr)
        assert (labels["node_name"], labels["port_name"]) == ("simulated", "bottleneck"), expr


def test_histograms_count_every_packet(live: Live, tmp_path: Path):
    """The histograms agree with the rows of the run, which are counted here."""
    nodes = tmp_path / "nodes.toml"
    config = (live.directory / "collector.toml").read_text()
    nodes.write_text(config[config.index("[nodes.10]") :])
    command = [BIN_DIR / "tidemark-collector", "import", "--nodes", nodes, "--out", tmp_path / "c"]
    command += ["--pcap", live.directory / "reports.pcap.gz"]
    subprocess.run(command, check=True, capture_output=True)
    columns = ["occupancy_bytes", "ingress_ns", "egress_ns", "dropped"]
    files = sorted((tmp_path / "c").rglob("postcards*.parquet"))
    rows = [row for f in files for row in pq.read_table(f, columns=columns).to_pylist()]
    left = [row for row in rows if not row["dropped"]]
    assert 0 < len(left) < len(rows)
    met = {
        "occupancy_bytes": [row["occupancy_bytes"] for row in rows],
        "delay_seconds": [(row["egress_ns"] - row["ingress_ns"]) / 1e9 for row in left],
    }
    counted = f"tidemark_collector_link_occupancy_bytes_count{LINK}"
    eventually("Prometheus has every packet", lambda: live.value(counted) == len(rows))
    for name, values in met.items():
        metric = f"tidemark_collector_link_{name}"
        assert live.value(f"{metric}_count{LINK}") == len(values)
        assert live.value(f"{metric}_sum{LINK}") == pytest.approx(sum(values), rel=1e-9)
        buckets = live.query(f"{metric}_bucket{LINK}")
        assert len(buckets) > 30
        for bucket in buckets:
            bound = float(bucket["metric"]["le"])
            # Half a nanosecond of tolerance: a delay may equal the bound.
            below = sum(v <= bound + 5e-10 for v in values)
            assert float(bucket["value"][1]) == below, (name, bound)


def test_every_alert_is_evaluated(live: Live):
    for name, expr in alerts().items():
        live.query(expr)
        assert live.query(f'ALERTS{{alertname="{name}"}}') is not None
    # Nobody listens at the switch's address.
    assert live.query(alerts()["TidemarkSwitchNotReady"])
    assert not live.query(alerts()["TidemarkCollectorNotSubscribed"])
    assert not live.query(alerts()["TidemarkReportsLost"])


def test_prometheus_has_the_numbers(live: Live):
    truth = json.loads((live.directory / "truth.json").read_text())
    estimate = f"last_over_time(tidemark_controller_locally_bottlenecked_flows{LINK}[2m])"
    n_b = live.value(estimate, live.replayed)
    assert n_b == pytest.approx(truth["n_flows"]["lbp"], abs=2)
    sent = truth["capture"]["reports_sent"]
    reports = "tidemark_collector_reports_total"
    eventually("Prometheus has read the last report", lambda: live.value(reports) == sent)
    assert live.value("tidemark_collector_reports_lost_total") == 0
    assert live.value("tidemark_collector_join_matched_ratio") > 0.99
    assert live.value(f"tidemark_controller_target_delay_seconds{LINK}") == 0.05
