# SPDX-License-Identifier: Apache-2.0
"""The report of a made-up run: figures, texts, and refusals."""

from __future__ import annotations

import base64
import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from tidemark_lab.application import Transfers, view
from tidemark_lab.demo import report, tables
from tidemark_lab.errors import LabError
from tidemark_lab.figures import data, source
from tidemark_lab.formats import MISSING

# A simulated run, with phases from 3 to 8 s and from 9 s on.
CAPTURE = Path(__file__).parent / "data" / "small" / "capture"
LIMITS = (312_500, 150_000)
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg"><title>first</title></svg>\n'


def make_summary() -> dict:
    def phase(name: str, index: int) -> dict:
        estimate = {"value": 12.0, "low": 11.0, "high": 13.0}
        delay_ms = {"p50": 12.5, "p99": 24.0, "max": 25.0}
        start = 3 + 6 * index
        return {
            "name": name,
            "utilisation": 0.991 - 0.005 * index,
            "loss_rate": 0.0062,
            "delay_ms": delay_ms,
            "occupancy_bytes": {"p50": 150_000, "p99": 300_000, "max": 312_000},
            "limit_bytes": LIMITS[index],
            "drops": 160,
            "ce_marked": 0,
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
            "verdict": None
            if index
            else {
                "answer": "too_big",
                "in_force_bytes": 312_500,
                "low_bytes": 120_000,
                "set_bytes": 150_000,
                "high_bytes": 190_000,
                "chance": 0.92,
                "because": "utilisation is 99.1 % for 98 % <at 312 kB>",
            },
            "application": view(Transfers([38_000] * 20, [100.0] * 20, 1), 25.0, delay_ms, 0.0062),
            "window": {
                "start_ns": start * 10**9,
                "end_ns": (start + 5) * 10**9,
                "start_s": float(start),
                "end_s": float(start + 5),
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


def make_run(directory: Path) -> Path:
    directory.mkdir()
    (directory / "summary.json").write_text(json.dumps(make_summary()))
    shutil.copytree(CAPTURE, directory / "capture")
    (directory / "links").mkdir()
    (directory / "links" / "first-s1.svg").write_text(PICTURE)
    return directory


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return make_run(tmp_path / "20260101-120000")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn only once, because that takes seconds."""
    return write_report(make_run(tmp_path_factory.mktemp("drawn") / "20260101-120000"))


def write_report(run_dir: Path) -> Path:
    return report.write(run_dir, json.loads((run_dir / "summary.json").read_text()))


def test_one_self_contained_file(page: Path) -> None:
    assert page.name == "report.html"
    text = page.read_text()
    assert text.count("<svg") == 6
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", text), "refers to something outside"
    assert "https://" not in text
    assert "<script" not in text
    assert not list(page.parent.glob("*.part"))
    assert len(text) < 3_000_000


def test_the_verdict_comes_first(page: Path) -> None:
    text = page.read_text()
    said = "set 150.0 kB (92 %); utilisation is 99.1 % for 98 % &lt;at 312 kB&gt;</p>"
    assert 0 < text.index("<p>phase first: buffer too big: 312.5 kB in force") < text.index("<h2>")
    assert text.index(said) < text.index("<h2>")
    drawn = base64.b64encode(PICTURE.encode()).decode()
    assert text.index(said) < text.index(f"data:image/svg+xml;base64,{drawn}") < text.index("<h2>")


def test_figures_are_valid_and_their_ids_distinct(page: Path) -> None:
    ids = []
    for svg in re.findall(r"<svg.*?</svg>", page.read_text(), re.DOTALL):
        root = ET.fromstring(svg)
        own = {e.get("id") for e in root.iter() if e.get("id")}
        for reference in re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", svg):
            assert reference in own
        ids += own
    assert len(ids) == len(set(ids))


def test_units_on_every_axis(page: Path) -> None:
    text = re.sub(r"</?tspan[^>]*>", "", page.read_text())
    for label in (
        "queue (packets)",
        "time since the phase began (s)",
        "ms at capacity",
        "queueing delay (ms)",
        "cwnd (packets)",
        "Q(t) + BDP (packets)",
    ):
        assert label in text, label


def test_predicted_stands_beside_measured(page: Path) -> None:
    text = page.read_text()
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


def test_applications_have_their_table(page: Path) -> None:
    text = page.read_text()
    assert "<h2>As applications see it</h2>" in text
    for label, shown in (
        ("transfers, whole", "20"),
        ("completion time, median", "100.0 ms"),
        ("completion time, p99", MISSING),
        ("page load (model)", "1267 ms"),
        # R = 93.2 - 0.024 · 57.5 - 95 · 0.62 / 25.72 = 89.5.
        ("voice, MOS of 1 to 4.5 (E-model)", "4.33"),
    ):
        row = f'<th scope="row">{label}</th><td>{shown}</td><td>{shown}</td>'
        assert row in text, label


def test_verdicts_say_what_was_missed() -> None:
    summary = make_summary()
    second = summary["phases"][1]
    second["utilisation"] = 0.937
    second["loss_rate"] = 0.0207
    second["delay_ms"]["max"] = 12.2
    assert tables.verdicts(summary) == [
        "utilisation 93.7 % measured; outside the predicted 97.2 % to 99.0 %; "
        "target 98.0 % missed.",
        "loss rate 2.070 % measured; outside the predicted 0.500 % to 1.000 %; "
        "target 1.000 % missed.",
        "largest queueing delay 12.2 ms measured; within the predicted 12.1 ms to 12.1 ms; "
        "target 30.0 ms met.",
    ]
    summary["phases"][0]["advice"] = None
    assert tables.verdicts(summary) == []


def test_data_is_the_bottlenecks_in_order_of_time(run_dir: Path) -> None:
    (port,) = source.ports(run_dir)
    assert (port.node, port.port, port.capacity_bps) == (10, 1, 4e6)
    first, second = (data.read(port, span) for span in port.spans)
    for p in (first, second):
        assert (np.diff(p.time_s) >= 0).all()
        assert np.isnan(p.delay_ms[p.dropped]).all() and p.dropped.any()
        assert (p.delay_ms[~p.dropped] >= 0).all()
    # A full queue takes this long at 4 Mb/s.
    assert np.nanmax(first.delay_ms) == pytest.approx(33 * 1538 * 8 / 4e3, rel=0.05)
    assert np.nanmax(first.limit_bytes) > 1.9 * np.nanmax(second.limit_bytes)


def test_without_tcp_probe_and_of_a_run_from_before_applications(run_dir: Path) -> None:
    summary = make_summary()
    for phase in summary["phases"]:
        del phase["application"]
    (run_dir / "summary.json").write_text(json.dumps(summary))
    for path in (run_dir / "capture").glob("tcp_probe-*"):
        path.unlink()
    text = write_report(run_dir).read_text()
    assert text.count("<svg") == 4
    assert "applications" not in text and "<h2>Evidence</h2>" in text
    assert "No sender's window is in the capture" in text.replace("&#x27;", "'")


def test_refusals_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no capture here"):
        report.write(tmp_path, make_summary())
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(LabError, match=r"summary\.json has no phases"):
        report.write(tmp_path, make_summary())
    (tmp_path / "summary.json").write_text(json.dumps(make_summary()))
    with pytest.raises(LabError, match="no capture here"):
        write_report(tmp_path)
    shutil.copytree(CAPTURE, tmp_path / "capture")
    (tmp_path / "capture" / "postcards-0000.parquet").unlink()
    with pytest.raises(LabError, match="no packet"):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()
