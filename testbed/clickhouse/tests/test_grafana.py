# SPDX-License-Identifier: Apache-2.0
"""Runs every query of Grafana's packets dashboard on a capture of the golden set."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COLLECTOR, REPOSITORY, Front

RUN = "bscl_n20_bdp"
NODES = """
[nodes.10]
name = "simulated"
time_unit = "ns"
depth_unit = "packets"
packet_bytes = 1500
[nodes.10.ports.1]
capacity_bps = 50000000
wire_overhead_bytes = 0
queue_overhead_bytes = 0
"""
CHANGE = """
INSERT INTO limit_changes
    (controller, unix_ms, node_id, egress_port, origin, outcome, limit_bytes, record)
VALUES ('c', {at:UInt64}, 10, 1, 'operator', 'set', 100000, '{}'),
    ('c', {at:UInt64}, 10, 2, 'operator', 'set', 100000, '{"port":2}')
"""
DASHBOARD = REPOSITORY / "deploy" / "grafana" / "dashboards" / "packets.json"


MARKS = "marks"
LATER = {"__from": "1700000000000", "__to": "1700000001000"}


def queries() -> dict[str, str]:
    """Returns the queries of panels, by title, and of the annotations for changes of the limit."""
    board = json.loads(DASHBOARD.read_text())
    found = {p["title"]: t["rawSql"] for p in board["panels"] for t in p.get("targets", [])}
    (marks,) = board["annotations"]["list"]
    return found | {MARKS: marks["target"]["rawSql"]}


def variables() -> list[dict]:
    return json.loads(DASHBOARD.read_text())["templating"]["list"]


def defaults() -> dict[str, str]:
    typed = {v["name"]: v["query"] for v in variables() if v["type"] == "textbox"}
    # The capacity comes from Prometheus: deploy/tests.
    return typed | {"node": "10", "port": "1", "queue": "0", "capacity_bps": "50000000"}


def choices(front: Front, span: dict[str, str]) -> dict[str, list[str]]:
    """Returns values of ClickHouse's variables, each with the first value of earlier ones."""
    offered: dict[str, list[str]] = {}
    for v in variables():
        if v.get("datasource", {}).get("type") == "grafana-clickhouse-datasource":
            before = {name: next(iter(values), "0") for name, values in offered.items()}
            rows = front.query(filled_in(v["query"], before | span) + "\nFORMAT TSV")
            offered[v["name"]] = [value for (value,) in rows]
    return offered


def filled_in(sql: str, values: dict[str, str]) -> str:
    """Fills in variables like Grafana; a variable without a value is an error."""
    return re.sub(r"\$(\w+)", lambda m: values[m[1]], sql)


def run(*command: object) -> None:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def loaded(tmp_path: Path, front: Front) -> Front:
    golden = REPOSITORY / "common" / "test-support" / "golden" / "reduce.py"
    run(sys.executable, golden, "--unpack", RUN, "--out", tmp_path)
    (tmp_path / "nodes.toml").write_text(NODES)
    run(
        COLLECTOR, "import", "--pcap", tmp_path / "reports.pcap.gz",
        "--tcp-probe", tmp_path / "tcp_probe.txt.gz", "--nodes", tmp_path / "nodes.toml",
        "--out", tmp_path / "capture",
    )  # fmt: skip
    run(COLLECTOR, "load", tmp_path / "capture", "--clickhouse", front.url)
    return front


def test_every_panel_has_an_answer(loaded: Front):
    columns = "intDiv(min(unix_ns), 1000000), intDiv(max(unix_ns), 1000000) + 1, count()"
    first_ms, last_ms, packets = loaded.query(f"SELECT {columns} FROM postcards")[0]
    loaded.query(CHANGE, at=int(first_ms) + 1000)
    span = {"__from": first_ms, "__to": last_ms}
    assert choices(loaded, span) == {"node": ["10"], "port": ["1"], "queue": ["0"]}
    assert choices(loaded, LATER) == {"node": [], "port": [], "queue": []}
    values = defaults() | span

    answers = {}
    for title, sql in queries().items():
        names, *rows = loaded.query(filled_in(sql, values) + "\nFORMAT TSVWithNames")
        answers[title] = [dict(zip(names, row, strict=True)) for row in rows]
        assert rows, f"{title}: no row"
    assert len(answers) == 7

    occupancy = answers["Occupancy that arriving packets met, per millisecond"]
    assert sum(int(r["packets"]) for r in occupancy) == int(packets)
    drops = sum(int(r["drops"]) for r in occupancy)
    assert drops > 0
    assert sum(int(r["drops"]) for r in answers["Loss events"]) == drops
    assert sum(int(r["drops"]) for r in answers["Drops per flow of the queue"]) == drops
    seconds = answers["Utilisation and loss, per second"][2:-2]
    assert all(0.9 < float(r["utilisation"]) < 1.05 for r in seconds)
    assert len({r["flow"] for r in answers["Rates of the largest flows of the queue"]}) == 10
    assert [r["origin"] for r in answers["Limit changes"]] == ["operator"]
    (mark,) = answers[MARKS]
    assert mark["text"] == "operator, set: not known to 100000 bytes"


def test_outside_the_span_is_nothing(loaded: Front):
    values = defaults() | LATER
    for title, sql in queries().items():
        assert loaded.query(filled_in(sql, values)) == [], title
