# SPDX-License-Identifier: Apache-2.0
"""The report of a made-up run: what it draws and says, and what it refuses."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemark_lab.report import ReportError, figures, tables, write_report
from tidemark_lab.report.data import Run

ORIGIN_NS = 5_000_000_000
SECONDS = 40
LIMITS = (312_500, 150_000)


def make_summary() -> dict:
    def phase(name: str, index: int) -> dict:
        estimate = {"value": 12.0, "low": 11.0, "high": 13.0}
        start = index * 20 + 2
        return {
            "name": name,
            "utilisation": 0.991 - 0.005 * index,
            "loss_rate": 0.0062,
            "delay_ms": {"p50": 12.5, "p99": 24.0, "max": 25.0},
            "occupancy_bytes": {"p50": 150_000, "p99": 300_000, "max": 312_000},
            "limit_bytes": LIMITS[index],
            "reports": {"received": 165_000, "lost": 0, "malformed": 0},
            "join": {"matched_fraction": 0.9971},
            "estimates": {
                **dict.fromkeys(("n_b", "t_e_ms", "alpha", "mean_loss_burst"), estimate),
                "delta": {"value": None, "low": None, "high": None},
                "c_e_share": {"value": 0.9, "low": 0.88, "high": 0.92},
                "regime": {"value": "elastic", "low": None, "high": None},
            },
            "truth": {"n_b": 2, "t_e_ms": 19.2},
            "advice": None
            if index
            else {
                "limit_bytes": 150_000,
                "rule": "bscl",
                "feasible": True,
                "predicted": {
                    "utilisation": {"value": 0.984, "low": 0.972, "high": 0.99},
                    "loss_rate": {"value": 0.0078, "low": 0.005, "high": 0.01},
                    "delay_ms": {"value": 12.1, "low": 12.1, "high": 12.1},
                },
                "reasons": ["Utilisation of 98 % needs 150 kB <BSCL>."],
            },
            "window": {
                "start_ns": ORIGIN_NS + start * 10**9,
                "end_ns": ORIGIN_NS + (start + 16) * 10**9,
                "start_s": float(start),
                "end_s": float(start + 16),
            },
        }

    scenario = {
        "capacity_bps": 100_000_000,
        "base_rtts_ms": [10.0, 20.0],
        "lbp_flows": 2,
        "rbp_senders": [1],
        "wl_senders": [0],
        "targets": {"utilisation": 0.98, "loss_rate": 0.01, "delay_ms": 30.0},
    }
    return {
        "config": {"scenario": scenario, "kernel": "6.1", "version": "0.1.0"},
        "phases": [phase("first", 0), phase("second", 1)],
    }


def write_capture(capture: Path, *, probes: bool = True) -> None:
    capture.mkdir()
    count = SECONDS * 1000
    t = np.arange(count)
    limit = np.where(t < count // 2, *LIMITS)
    occupancy = limit * (0.6 + 0.4 * np.abs(np.sin(t / 900)))
    dropped = occupancy > 0.9999 * limit
    ingress = ORIGIN_NS + t * 1_000_000
    postcards = pa.table(
        {
            "node_id": pa.array(np.full(count, 10, np.uint32)),
            "egress_port": pa.array(np.full(count, 5, np.uint32)),
            "flow_id": pa.array((t % 2 + 1).astype(np.uint64)),
            "ingress_ns": pa.array(ingress.astype(np.uint64)),
            "egress_ns": pa.array((ingress + 12_000_000).astype(np.uint64), mask=dropped),
            "occupancy_bytes": pa.array(occupancy.astype(np.uint64)),
            "limit_bytes": pa.array(limit.astype(np.uint64)),
            "ip_bytes": pa.array(np.full(count, 1500, np.uint32)),
            "dropped": pa.array(dropped),
        }
    )
    # Two files, of which the second holds the earlier packets: order is by time.
    pq.write_table(postcards.slice(count // 2), capture / "postcards-000000.parquet")
    pq.write_table(postcards.slice(0, count // 2), capture / "postcards-000001.parquet")
    other = postcards.slice(0, 10).set_column(1, "egress_port", pa.array(np.full(10, 1, np.uint32)))
    pq.write_table(other, capture / "postcards-000002.parquet")
    flows = pa.table(
        {
            "kind": pa.array(["flow", "flow", "watermark"]),
            "flow_id": pa.array([1, 2, None], pa.uint64()),
            "src": pa.array(["198.18.0.11", "198.18.0.12", None]),
            "dst": pa.array(["198.18.0.100", "198.18.0.100", None]),
            "src_port": pa.array([40001, 40002, None], pa.uint16()),
            "dst_port": pa.array([5001, 5001, None], pa.uint16()),
        }
    )
    pq.write_table(flows, capture / "events-000000.parquet")
    if not probes:
        return
    n = SECONDS * 50
    k = np.arange(n)
    samples = pa.table(
        {
            "node_id": pa.array(np.full(n, 10, np.uint32)),
            "egress_port": pa.array(np.full(n, 5, np.uint32)),
            "time_ns": pa.array((ORIGIN_NS + k * 20_000_000).astype(np.uint64)),
            "flow_id": pa.array((k % 2 + 1).astype(np.uint64)),
            "cwnd_segments": pa.array((10 + k % 30).astype(np.uint32)),
        }
    )
    pq.write_table(samples, capture / "tcp_probe-000000.parquet")


def write_truth(run_dir: Path) -> None:
    flow = {"kind": "lbp", "destination": "198.18.0.100:5001"}
    flows = [
        {
            **flow,
            "name": "lbp-1",
            "source": "198.18.0.11:40001",
            "congestion_control": "reno",
            "base_rtt_ms": 10.0,
        },
        {
            **flow,
            "name": "lbp-2",
            "source": "198.18.0.12:40002",
            "congestion_control": "cubic",
            "base_rtt_ms": 20.0,
        },
        {**flow, "kind": "short", "name": "s", "source": "198.18.0.12:1", "base_rtt_ms": 20.0},
    ]
    (run_dir / "truth.json").write_text(json.dumps({"flows": flows}))


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "20260101-120000"
    directory.mkdir()
    (directory / "summary.json").write_text(json.dumps(make_summary()))
    write_capture(directory / "capture")
    write_truth(directory)
    return directory


def load(run_dir: Path) -> Run:
    return Run.load(run_dir, json.loads((run_dir / "summary.json").read_text()))


def test_one_self_contained_file(run_dir: Path) -> None:
    path = write_report(run_dir)
    assert path == run_dir / "report.html"
    text = path.read_text()
    assert text.count("<svg") == 4
    assert not re.search(r"(?:src|href)=\"(?!#)", text), "refers to something outside"
    assert "https://" not in text
    assert "<script" not in text
    assert not list(run_dir.glob("*.part"))
    assert len(text) < 3_000_000


def test_figures_are_valid_and_their_ids_distinct(run_dir: Path) -> None:
    text = write_report(run_dir).read_text()
    ids = []
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        root = ET.fromstring(svg)
        own = {e.get("id") for e in root.iter() if e.get("id")}
        for reference in re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", svg):
            assert reference in own
        ids += own
    assert len(ids) == len(set(ids))


def test_units_on_every_axis(run_dir: Path) -> None:
    text = write_report(run_dir).read_text()
    for label in (
        "occupancy (kB)",
        "time since the first report (s)",
        "ms at capacity",
        "queueing delay (ms)",
        "occupancy met by arrivals (kB)",
        "cwnd (pkts)",
        "queue (kB)",
    ):
        assert label in text, label


def test_predicted_stands_beside_measured(run_dir: Path) -> None:
    text = write_report(run_dir).read_text()
    row = re.search(r"<tr><th scope=\"row\">utilisation</th>(.*?)</tr>", text)
    assert row is not None
    assert re.findall(r"<td>(.*?)</td>", row.group(1)) == [
        "99.1 %",
        "98.6 %",
        "98.4 % (97.2 % to 99.0 %)",
        "≥ 98 %",
    ]
    row = re.search(r"<th scope=\"row\"><var>N<sub>b</sub></var>, flows</th>(.*?)</tr>", text)
    assert row is not None
    assert re.findall(r"<td>(.*?)</td>", row.group(1))[:2] == ["12.0 (11.0 to 13.0)", "2.0"]
    assert "needs 150 kB &lt;BSCL&gt;." in text


def test_verdicts_say_what_was_missed(run_dir: Path) -> None:
    summary = make_summary()
    second = summary["phases"][1]
    second["utilisation"] = 0.937
    second["loss_rate"] = 0.0207
    second["delay_ms"]["max"] = 12.2
    run = Run.load(run_dir, summary)
    assert tables.verdicts(run) == [
        "utilisation 93.7 % measured; outside the predicted 97.2 % to 99.0 %; "
        "target 98.0 % missed.",
        "loss rate 2.070 % measured; outside the predicted 0.500 % to 1.000 %; "
        "target 1.000 % missed.",
        "largest queueing delay 12.2 ms measured; within the predicted 12.1 ms to 12.1 ms; "
        "target 30.0 ms met.",
    ]
    summary["phases"][0]["advice"] = None
    assert tables.verdicts(Run.load(run_dir, summary)) == []


def test_data_is_the_bottlenecks_in_order_of_time(run_dir: Path) -> None:
    run = load(run_dir)
    assert (run.node_id, run.port) == (10, 5)
    assert len(run.time_s) == SECONDS * 1000
    assert (np.diff(run.time_s) >= 0).all()
    assert run.time_s[0] == 0
    first, second = run.phases
    assert np.nanmax(run.limit_bytes[run.of(first)]) == LIMITS[0]
    assert np.nanmax(run.limit_bytes[run.of(second)]) == LIMITS[1]
    assert np.isnan(run.delay_ms[run.dropped]).all()
    assert np.allclose(run.delay_ms[~run.dropped], 12.0)
    assert [(f.name, f.control, f.base_rtt_ms) for f in run.flows] == [
        ("lbp-1", "reno", 10.0),
        ("lbp-2", "cubic", 20.0),
    ]
    assert sum(len(f.drop_s) for f in run.flows) == run.dropped.sum() > 0


def test_envelope_keeps_the_extremes() -> None:
    time_s = np.linspace(0, 10, 100_000)
    values = np.sin(time_s * 300)
    values[54_321] = 9.0
    centre, low, middle, high = figures.envelope(time_s, values, 0.0, 10.0)
    assert high.max() == 9.0
    assert low.min() == pytest.approx(-1, abs=1e-3)
    assert len(centre) == len(middle) == figures.COLUMNS
    assert all(part.size == 0 for part in figures.envelope(np.empty(0), np.empty(0), 0.0, 1.0))


def test_without_tcp_probe_and_truth(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(json.dumps(make_summary()))
    write_capture(tmp_path / "capture", probes=False)
    text = write_report(tmp_path).read_text()
    assert text.count("<svg") == 3
    assert "No tcp_probe samples" in text


def test_refusals_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"summary\.json: not found"):
        write_report(tmp_path)
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(ReportError, match="not JSON"):
        write_report(tmp_path)
    (tmp_path / "summary.json").write_text(json.dumps(make_summary()))
    with pytest.raises(ReportError, match="no such directory"):
        write_report(tmp_path)
    (tmp_path / "capture").mkdir()
    with pytest.raises(ReportError, match="no postcard"):
        write_report(tmp_path)
    (tmp_path / "capture" / "postcards-000000.parquet").write_bytes(b"PAR1")
    with pytest.raises(ReportError, match="capture"):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()
