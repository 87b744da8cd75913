# SPDX-License-Identifier: Apache-2.0
"""Figures from the packets of a run: `data/small` is simulated, three Reno flows at 4 Mb/s and 100
ms with limits of 1 and 0.5 BDP."""

import csv
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from tidemark_lab import theory
from tidemark_lab.__main__ import main
from tidemark_lab.errors import LabError
from tidemark_lab.figures import data, kinds, series, source

SMALL = Path(__file__).parent / "data" / "small"
RECORDED = Path(__file__).parents[3] / "common/test-support/recorded/four_flows"
# 4 Mb/s x 100 ms, in packets of 1538 bytes on the wire.
BDP = 4e6 / 8 * 0.1 / 1538
# A sender's round trip includes a packet's transmission time at this rate (3 ms), and the wait for
# the second packet of a delayed acknowledgement.
RTT_OFF = 0.08
KINDS = ("occupancy", "windows", "sum-of-windows", "distribution", "drops")


@pytest.fixture(scope="module")
def phases():
    (port,) = source.ports(SMALL)
    return port, [data.read(port, span) for span in port.spans]


def table(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_theory_of_a_queue():
    # One flow keeps half of BDP + B, which empties the queue at B = BDP.
    assert theory.least_queue(1, 100, 100, "reno") == 0
    assert theory.least_queue(1, 100, 200, "reno") == 50
    assert theory.least_queue(1, 100, 200, None) is None
    assert theory.least_queue(4, 100, 80) == 30
    assert theory.least_queue(4, 100, 30) == 0
    assert theory.least_queue(0, 100, 30) is None
    assert theory.most_with_loss(4, 8) == 3


def test_a_runs_phases_are_those_of_its_record(phases):
    port, (full, half) = phases
    assert port.capacity_bps == 4e6 and port.queue_overhead_bytes == 14
    assert [(s.name, s.n_b, s.congestion_control) for s in port.spans] == [
        ("full", 3, "reno"),
        ("half", 3, "reno"),
    ]
    assert full.packet_bytes == 1514 and full.packet_wire_bytes == 1538
    assert full.buffer == pytest.approx(33, abs=0.1) and half.buffer == pytest.approx(16.5, abs=0.6)
    assert full.time_s[0] >= 0 and full.time_s[-1] < full.span.seconds == 5
    assert (np.diff(full.time_s) >= 0).all()


def test_windows_are_the_queue_and_what_is_on_its_way(phases):
    """W(t) = Q(t) + BDP while the link is busy, as it always is with 1 BDP."""
    port, (full, half) = phases
    assert series.bdp(full, port.capacity_bps) == pytest.approx(BDP, rel=RTT_OFF)
    pipe = series.busy_pipe(full, port.capacity_bps)
    assert pipe == pytest.approx(BDP, rel=RTT_OFF)
    at = series.instants(full)
    off = series.windows_sum(full, at) - series.queue_at(full, at) - pipe
    assert abs(np.median(off)) < 2 and np.quantile(np.abs(off), 0.9) < 6
    # With half a BDP the link idles at times: fewer packets are in flight than fill it.
    at = series.instants(half)
    least = series.windows_sum(half, at).min()
    assert least < series.busy_pipe(half, port.capacity_bps) - 2


def test_windows_of_real_tcp_are_the_queue_and_what_is_on_its_way():
    """Within 3 % on a full link, including losses; the controller's test also reads this run."""
    (port,) = source.ports(RECORDED)
    (p,) = [data.read(port, span) for span in port.spans]
    assert p.dropped.any()
    at = series.instants(p)
    against = series.queue_at(p, at) + series.busy_pipe(p, port.capacity_bps)
    assert np.nanmean(series.windows_sum(p, at)) == pytest.approx(np.nanmean(against), rel=0.03)


def test_of_many_senders_those_with_most_samples_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(kinds, "MOST_SENDERS", 2)
    assert main(["figures", str(SMALL), "--out", str(tmp_path)]) == 0
    (port,) = source.ports(SMALL)
    drawn = table(tmp_path / "windows.csv")
    for span in port.spans:
        p = data.read(port, span)
        counts = sorted((series.samples_in(s, span), s.flow) for s in p.senders)
        flows = {int(r["flow"]) for r in drawn if r["phase"] == span.name}
        assert flows == {flow for _, flow in counts[-2:]}
    assert "1 are left out" in (tmp_path / "report.html").read_text()


def test_drops_are_counted_once_for_each_flow_and_round_trip(phases):
    _, (full, half) = phases
    for p in (full, half):
        rtt_s = series.mean_rtt_s(p.senders)
        assert rtt_s == pytest.approx(0.1, rel=RTT_OFF)
        at, count = series.losers(p, rtt_s)
        assert len(at) and (count >= 1).all() and (count <= 3).all()
        assert count.sum() <= p.dropped.sum()
        seen = series.occupancy(p)
        assert seen.drops.sum() == p.dropped.sum()
        assert seen.high.max() * p.packet_bytes == p.queue_bytes.max()
        where, share = series.histogram(p)
        assert share.sum() == pytest.approx(1)
        mean = p.queue_bytes.mean() / p.packet_bytes
        assert (where * share).sum() == pytest.approx(mean, abs=1)


def test_the_command_writes_figures_and_their_data(tmp_path, capsys):
    assert main(["figures", str(SMALL), "--out", str(tmp_path)]) == 0
    assert str(tmp_path / "report.html") in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    assert "values agree" not in page and "4 Mb/s" in page
    for kind in KINDS:
        svg = (tmp_path / f"{kind}.svg").read_text()
        assert svg.startswith("<svg") and f'aria-labelledby="{kind}-caption"' in svg
        assert f'id="{kind}-caption"' in page
        assert {r["phase"] for r in table(tmp_path / f"{kind}.csv")} == {"full", "half"}
    drops = table(tmp_path / "drops.csv")
    (port,) = source.ports(SMALL)
    assert len(drops) == sum(int(data.read(port, s).dropped.sum()) for s in port.spans)
    flows = {r["flow"] for r in table(tmp_path / "windows.csv")}
    assert len(flows) == 3
    assert len({float(r["limit_packets"]) for r in table(tmp_path / "occupancy.csv")}) == 2


def test_theory_is_drawn_where_flows_are_known(tmp_path, monkeypatch):
    """The dashed line of Theorem 4 is at B - BDP/√n."""
    lines = []
    monkeypatch.setattr(
        theory, "least_queue", lambda n, bdp, buffer, control: lines.append((n, bdp, buffer)) or 1.0
    )
    assert main(["figures", str(SMALL), "--out", str(tmp_path)]) == 0
    assert {n for n, _, _ in lines} == {3}
    assert all(math.isclose(bdp, BDP, rel_tol=RTT_OFF) for _, bdp, _ in lines)


def test_a_capture_alone_has_figures_without_theory(tmp_path, capsys):
    shutil.copytree(SMALL / "capture", tmp_path / "x" / "capture")
    assert main(["figures", str(tmp_path / "x" / "capture")]) == 0
    out = tmp_path / "x" / "capture" / "figures"
    rows = table(out / "distribution-s1-1.csv")
    assert {r["phase"] for r in rows} == {"all"}
    # Once more: the files it has written are not a run.
    assert main(["figures", str(tmp_path / "x")]) == 0
    assert capsys.readouterr().out.count("report.html") == 2


def test_a_run_of_the_demo_has_figures(tmp_path):
    shutil.copytree(SMALL / "capture", tmp_path / "capture")
    window = {"start_ns": 3_000_000_000, "end_ns": 8_000_000_000}
    phases = [{"name": "A", "window": window, "truth": {"n_b": 3}}]
    (tmp_path / "summary.json").write_text(json.dumps({"phases": phases}))
    (port,) = source.ports(tmp_path)
    assert port.spans[0].n_b == 3 and port.capacity_bps == 4e6
    assert main(["figures", str(tmp_path)]) == 0
    assert (tmp_path / "figures" / "sum-of-windows.svg").exists()


def test_what_cannot_be_drawn_is_told_and_keeps_no_other_from_it(tmp_path, capsys):
    shutil.copytree(SMALL, tmp_path / "a")
    shutil.rmtree(tmp_path / "a" / "capture")
    shutil.copytree(SMALL, tmp_path / "b")
    assert main(["figures", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert "no capture here" in said.err and "b/figures/report.html" in said.out
    assert main(["figures", str(tmp_path / "nowhere")]) == 1
    assert "is not a directory of runs" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["figures", str(tmp_path / "empty")]) == 1
    assert "no runs in" in capsys.readouterr().err
    (tmp_path / "b" / "capture" / "capture.json").write_text("{")
    with pytest.raises(LabError, match="cannot be read"):
        source.ports(tmp_path / "b")
