# SPDX-License-Identifier: Apache-2.0
"""Checks and reports of the papers' figures, and what their theory says."""

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from experiment_files import document

from tidemark_lab import theory
from tidemark_lab.__main__ import main
from tidemark_lab.errors import LabError
from tidemark_lab.experiment import load
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.simulated import Ns3
from tidemark_lab.outcome import EXIT_INTERRUPTED
from tidemark_lab.papers import (
    bscl,
    bscl_few,
    bscl_mix,
    bscl_table,
    command,
    draw,
    flows,
    ngi,
    oi,
    oi_flows,
    repetitions,
    report,
    runs,
    srb,
    utb,
    utb_least,
    utb_time,
)
from tidemark_lab.papers.paper import Check, Figure, within, within_factor
from tidemark_lab.papers.runs import Packets
from tidemark_lab.papers.study import FILES, Study


def test_a_check_agrees_within_its_tolerance_and_says_why_only_where_not():
    inside = Check("x", "halved", 0.52, 0.45, 0.55, why="never shown")
    outside = Check("x", "halved", 0.6, 0.45, 0.55, why="a timeout")
    blank = Check("x", "halved", None, 0.45, 0.55)
    assert [c.verdict for c in (inside, outside, blank)] == ["agrees", "DISAGREES", "not measured"]
    assert inside.row()[-1] == "" and outside.row()[-1] == "a timeout"
    assert report.summary([inside, outside, blank]).startswith("1 of 3 measured values agree")


def test_what_follows_from_the_settings_is_no_agreement():
    measured = Check("x", "halved", 0.52, 0.45, 0.55)
    computed = replace(measured, computed=True)
    assert computed.verdict == "computed" and computed.agrees is None
    said = report.summary([measured, computed])
    assert said.startswith("1 of 1 measured values agree")
    assert "1 follow from the settings" in said and "could not be" not in said


def test_the_theory_of_one_flow_is_the_papers():
    """UTB §3.5: full utilisation from 1, 3/7, 1/7 and 1/4 BDP on."""
    for algorithm, least in (("reno", 1.0), ("cubic", 0.4282), ("scalable", 1 / 7), ("bbr", 0.25)):
        assert utb.theory_utilisation(algorithm, least) == pytest.approx(1, abs=1e-4)
        assert utb.theory_utilisation(algorithm, least - 0.1) < 0.99
    assert utb.theory_utilisation("reno", 0.5) == 0.75


def test_the_bound_of_theorem_5():
    assert theory.most_with_loss(16, 165) == pytest.approx(4 + 256 / 330)


def test_the_queue_that_theory_has_as_the_least():
    """UTB §3.5 of one flow, at 1 BDP: Reno empties the queue, BBR drains a quarter of a BDP."""
    assert theory.least_queue(1, 100, 100, "reno") == 0
    assert theory.least_queue(1, 100, 100, "bbr") == 75
    assert theory.least_queue(1, 100, 20, "bbr") == 0
    assert theory.least_queue(1, 100, 100, None) is None
    assert theory.least_queue(4, 100, 100, "bbr") == 50


def test_the_loss_law_of_bottlenecked_flows():
    """BSCL: B = 8.7·N_b - C_e·T_e is where the loss is 1 % (eqs. 21, 22)."""
    assert theory.loss_of_flows(100, 200, 8.7 * 100 - 200) == pytest.approx(0.01)
    assert theory.loss_of_flows(1000, 200, 0) == 1.0


def test_bins_keep_the_smallest_and_the_largest():
    at = np.array([0.0, 0.1, 0.9, 1.0, 3.9, 4.0])
    found = draw.bins(at, np.array([5.0, 9.0, np.nan, 2.0, 7.0, 100.0]), 4.0, 4)
    assert list(found.time_s) == [0.5, 1.5, 3.5]
    assert list(found.low) == [5, 2, 7] and list(found.high) == [9, 2, 7]
    assert draw.bins(at, np.full(6, np.nan), 4.0, 4).low.size == 0


def packets(time_s, window):
    n = len(time_s)
    flat = np.zeros(n)
    return observed(np.array(time_s), flat, np.array(window, dtype=float))


def observed(time_s, flow, window):
    """Full segments, none dropped, no queue."""
    flat = np.zeros(len(time_s))
    return Packets(time_s, flat, flat.astype(bool), flow, flat + 1448, window)


def test_what_the_theory_does_not_know_is_told():
    steady = packets(np.arange(0, 1, 0.001), np.full(1000, 50.0))
    assert runs.disturbance(steady, "reno") == ""
    silent = packets([0, 0.01, 0.31, 0.32], [50, 50, 1, 2])
    assert "nothing is sent for 300 ms; in ns-3" in runs.disturbance(silent, "reno")
    assert runs.disturbance(silent, "reno", simulated=False).endswith("for 300 ms")
    probing = packets([0, 0.01, 0.02], [50, 4, 50])
    assert "ProbeRTT" in runs.disturbance(probing, "bbr")
    assert runs.disturbance(probing, "reno") == ""
    assert runs.disturbance(packets([0, 1e-3], [np.nan, np.nan]), "reno") == ""


def test_a_histogram_is_of_whole_packets():
    at, share = runs.histogram(np.array([0, 0, 1, 3.0]), 3)
    assert list(at[:4]) == [0, 1, 2, 3] and list(share[:4]) == [0.5, 0.25, 0, 0.25]


def figure(checks=()):
    svg = '<?xml version="1.0"?><svg viewBox="0 0 1 1"></svg>'
    return Figure("Fig. 1", "One & two", svg, ("a", "b"), [(1, 2), (3, None)], list(checks))


def test_a_report_has_figures_data_and_checks(tmp_path):
    check = Check("width < height", "halved", 0.6, 0.45, math.inf, why="so it is")
    page = report.write(tmp_path, "A paper", "about", [figure([check])])
    text = page.read_text()
    assert "One &amp; two" in text and "width &lt; height" in text and "<?xml" not in text
    assert list(csv.reader((tmp_path / "fig-1.csv").open())) == [["a", "b"], ["1", "2"], ["3", ""]]
    docs = report.write_docs(tmp_path / "docs", "x", "A paper", "about", [figure([check])])
    assert "![Fig. 1](x/fig-1.svg)" in docs.read_text()
    assert (tmp_path / "docs" / "x" / "fig-1.svg").exists()
    other = figure()
    other.name = "Fig. 2"
    report.write_docs(tmp_path / "docs", "x", "A paper", "about", [other])
    assert [p.name for p in (tmp_path / "docs" / "x").iterdir()] == ["fig-2.svg"]


def test_a_figure_that_is_too_large_for_the_page_is_an_error_and_not_left_out(tmp_path):
    small, large = figure(), figure()
    large.picture = "<svg>" + "x" * report.MOST_SVG_BYTES + "</svg>"
    large.name = "Fig. 2"
    with pytest.raises(LabError, match=r"Fig\. 2: its SVG"):
        report.write_docs(tmp_path, "x", "A paper", "about", [small, large])
    assert not list(tmp_path.iterdir())


def test_every_experiment_of_a_paper_is_there():
    for paper in command.PAPERS.values():
        assert all((FILES / f"{name}.toml").is_file() for name in paper.experiments)


def test_every_paper_has_a_long_form_that_the_simulator_takes():
    for name, paper in command.PAPERS.items():
        for experiment in paper.experiments:
            short = Study(Path("none")).points(experiment)
            long = Study(Path("none"), full=True).points(experiment)
            assert len(long) > len(short), (name, experiment)
            seconds = [sum(p.experiment.seconds for p in points) for points in (short, long)]
            assert seconds[1] > 2 * seconds[0], (name, experiment)
            # Seeds and counts change little in how many flows and transfers there are.
            point = [p for p in long if p.repetition == 0][-1]
            assert Ns3().refuse(Plan.of(point.experiment, point.seed)) == []


def test_without_runs_there_is_no_report(tmp_path, capsys):
    for form in ([], ["--quick"]):
        assert main(["paper", "utb", *form, "--report", "--out", str(tmp_path)]) == 1
        assert "no runs of it" in capsys.readouterr().err


def test_bscls_formulas():
    # Eq. 13: one flow loses in every event; of many, as many as a burst of alpha·N_b hits.
    assert bscl.q(1, 1) == 1
    assert bscl.q(100, 60) == pytest.approx(1 - 0.99**60)
    # K_p = 8.7 for 1 % (eq. 22).
    assert bscl.loss_packets(200, 100) == pytest.approx(870 - 200)
    # All flows lose in every event: the deterministic model C·T_e (eq. 11).
    assert bscl.utilisation_packets(200, 1, 1.0) == pytest.approx(200)
    assert bscl.utilisation_packets(200, 20, 0.6) < 100


def test_a_loss_event_ends_where_nothing_is_lost_for_a_gap():
    drops = np.array([0.30, 0.0, 0.04, 0.05, 0.32])
    assert bscl.mean_burst(drops, 0.1) == 2.5
    assert bscl.mean_burst(drops, 0.03) == pytest.approx(5 / 3)
    assert bscl.mean_burst(drops, 1.0) == 5


def test_utilisation_at_a_buffer_lies_between_two_that_were_measured():
    points = [(10.0, 0.9), (40.0, 0.98), (90.0, 1.0)]
    assert bscl_few.utilisation_at(points, 20) == pytest.approx(0.94)
    assert bscl_few.utilisation_at(points, 90) == 1.0
    assert bscl_few.utilisation_at(points, 9) is None
    assert bscl_few.utilisation_at(points, 91) is None


def test_a_crossing_lies_between_the_buffers_that_enclose_it():
    def enough(u):
        return u >= 0.98

    found, _ = bscl.crossing([(10, 0.96), (40, 1.0)], enough, 0.98)
    assert found == pytest.approx(20)
    assert bscl.crossing([(10, 0.99), (40, 1.0)], enough, 0.98) == (None, "at most 10")
    assert bscl.crossing([(10, 0.9), (40, 0.95)], enough, 0.98) == (None, "more than 40")


def test_bbr_is_measured_while_it_probes_for_bandwidth():
    p = packets([0.1, 0.5, 0.9, 1.3], [50, 4, 50, 50])
    # The part with 4 packets and the one after it are left out.
    assert list(runs.probes_bandwidth(p, 0.2, 7)) == [True, True, False, False, True, True, True]
    assert list(p.where(p.window == 4).time_s) == [0.5]


def test_srbs_tail_of_short_flows():
    assert srb.slow_start_bursts(14, 2) == [2, 4, 8]
    assert srb.slow_start_bursts(14, 10) == [10, 4]
    # exp(-b·2(1-r)/r·E[X]/E[X²]) with E[X] = 14/3, E[X²] = 28.
    assert srb.tail(0.8, [2, 4, 8], 12) == pytest.approx(math.exp(-12 * 0.5 / 6))
    assert srb.tail(0.8, [2, 4, 8], srb.length_at(0.8, [2, 4, 8], 0.01)) == pytest.approx(0.01)


def test_srbs_bursts_are_what_a_flow_sends_back_to_back():
    """Two flows at once; the first sends 2 packets, a round trip later 3; the second 1."""
    time_s = np.array([0.0, 0.0001, 0.00015, 0.1, 0.1001, 0.1002])
    flow = np.array([1, 2, 1, 1, 1, 1])
    found = srb.bursts_that_came(observed(time_s, flow, np.full(6, np.nan)), 1e-4)
    assert list(found) == [2, 3, 1]


def test_srbs_buffers_are_multiples_of_the_papers_bdp():
    for n, phase, packets_, *_ in srb.FIG_14:
        multiple = {"x05": 0.5, "x1": 1, "x2": 2, "x3": 3}[phase]
        assert multiple * 1291 / math.sqrt(n) == pytest.approx(packets_, abs=2)


def test_srbs_windows_vary_together_or_apart():
    """Two sawtooths in step have twice the deviation of one, in opposition none."""
    at = np.arange(0, 20, 0.005)
    up, down = 10 + np.abs(at % 2 - 1), 11 - np.abs(at % 2 - 1)
    flow = np.arange(at.size) % 2

    def of(other):
        window = np.where(flow == 0, up, other)
        return srb.variation(observed(at, flow, window))

    one = float(up.std())
    together, apart = of(up)
    assert together == pytest.approx(2 * one, rel=0.02)
    assert apart == pytest.approx(math.sqrt(2) * one, rel=0.02)
    assert of(down)[0] == pytest.approx(0, abs=0.02)


def test_ois_loss_of_persistent_flows():
    """Eq. 3: as the square of the flows, and slowly with the buffer."""
    assert oi.loss_persistent(200, 250, 500) == pytest.approx((174 / 750) ** 2)
    assert oi.loss_persistent(2000, 250, 0) == 1.0


def flow(port, rate, kind="lbp", large=True, drops=0):
    return flows.Flow(kind, port, large, 100, drops, rate)


def test_flows_are_compared_with_themselves():
    found = {
        oi_flows.SMALL: [flow(1, 10.0), flow(2, 20.0), flow(3, 30.0), flow(9, 1.0, "short")],
        oi_flows.LARGE: [flow(1, 11.0), flow(2, 21.0), flow(3, 29.0), flow(9, 2.0, "short")],
    }
    assert oi_flows.better_with_large(found) == pytest.approx(2 / 3)
    few = [flow(1, None, drops=1), flow(2, 5.0), flow(3, 7.0, large=False)]
    assert flows.rates(few, large=True) == [5.0]
    assert flows.without_loss(few, large=True) == 0.5
    assert flows.without_loss([], large=True) is None


def test_ngis_models():
    # §III-B: more than 4 flows at load 0.5 with probability 0.03.
    assert 1 - sum(ngi.sharing(0.5, k) for k in range(5)) == pytest.approx(0.03, abs=0.002)
    # §IV-A: 100 packets at 0.9 lose less than 1 in 30000; 20 at 0.71 less than 1 in 100.
    assert ngi.transparent_loss(0.9, 100) < 1 / 30000
    assert ngi.transparent_loss(0.71, 20) < 0.01


def test_all_papers_go_one_by_one_and_an_interruption_ends_them(tmp_path, monkeypatch):
    codes = {"utb": 0, "bscl": 1, "srb": 0, "oi": 4, "ngi": 0}
    seen = []

    def paper(name, *_):
        seen.append(name)
        return codes[name]

    monkeypatch.setattr(command, "_paper", paper)
    assert main(["paper", "all", "--quick", "--out", str(tmp_path)]) == 1
    assert seen == list(command.PAPERS)
    codes["srb"] = EXIT_INTERRUPTED
    seen.clear()
    assert main(["paper", "all", "--quick", "--out", str(tmp_path)]) == 1
    assert seen == ["utb", "bscl", "srb"]


def test_what_transfers_offer_is_of_the_phase_alone(tmp_path):
    """Two transfers, each half within a phase of 10 s; one begins in it."""
    half = {"bytes_wanted": 1_000_000, "kind": "short"}
    times = [(0, 10), (15, 25)]
    truth = [
        {**half, "start": {"unix_ns": b * 10**9}, "stop": {"unix_ns": e * 10**9}} for b, e in times
    ]
    (tmp_path / "truth.json").write_text(json.dumps({"flows": truth}))
    window = {"start_ns": 5 * 10**9, "end_ns": 20 * 10**9}
    record = {
        "phases": [{"name": "one", "windows": [window]}],
        "rows": [{"phase": "one", "rate_bps": 16e6}],
    }
    (tmp_path / "run.json").write_text(json.dumps(record))
    offered = flows.offered(runs.RunData(tmp_path), "one")
    assert offered.under_way == pytest.approx(10 / 15)
    assert offered.load == pytest.approx(8e6 / (15 * 16e6))


def test_tolerances_lie_around_the_printed_value():
    factor = within_factor("x", 8.0, 17.0, 2.0)
    assert (factor.low, factor.high, factor.paper, factor.agrees) == (4.0, 16.0, "8", False)
    off = within("x", 0.8, 0.7, 0.15, "80 %")
    assert (off.low, off.high) == (pytest.approx(0.65), pytest.approx(0.95))
    assert off.paper == "80 %" and off.agrees


def test_bscls_buffer_is_that_of_its_table():
    """With the C_e·T_e of a row its buffer is the paper's, where the loss decides."""
    for n, (_, _, buffer) in bscl_table.TABLE_I.items():
        c_te = bscl_table.c_te_of_row(n)
        known = bscl_mix.Estimated(n, c_te, 0.55 * n)
        assert known.buffer() == pytest.approx(buffer)
        # As the paper has it: up to 17 flows the utilisation decides.
        by_loss = max(bscl.loss_packets(c_te, n), 1.0)
        assert (by_loss == known.buffer()) == (n > bscl_table.LOSS_DECIDES_ABOVE)
        if n > 20:
            # K_p packets less for each flow that is not counted.
            less = known.buffer() - known.buffer(bscl_mix.TOO_SMALL)
            assert less == pytest.approx(0.2 * 8.7 * n, rel=1e-6)
    # With few flows the utilisation decides (eq. 16).
    few = bscl_mix.Estimated(2, 225, 2)
    assert few.buffer() == pytest.approx((0.75 * 225 - 4 * 0.25) / 1.25)


def test_loss_lies_between_the_buffers_around_it():
    points = [(10.0, 0.1), (1000.0, 0.001)]
    assert bscl_mix.loss_at(points, 100) == pytest.approx(0.01)
    assert bscl_mix.loss_at(points, 10) == pytest.approx(0.1)
    assert bscl_mix.loss_at(points, 5) is None and bscl_mix.loss_at(points, 2000) is None
    assert bscl_mix.loss_at([(10.0, 0.1), (1000.0, 0.0)], 100) is None


def test_windows_are_those_of_each_flow_where_they_are_known():
    window = np.array([5.0, np.nan, 7.0, 9.0])
    p = observed(np.arange(4.0), np.array([1, 2, 1, 3]), window)
    found = utb_time.of_each_flow(p)
    assert {f: list(w) for f, w in found.items()} == {1: [5.0, 7.0], 3: [9.0]}


def test_an_exponent_is_the_slope_of_logarithms():
    points = [(n, 30 / math.sqrt(n)) for n in (2, 8, 32)]
    assert utb_least.exponent(points) == pytest.approx(-0.5)
    assert utb_least.exponent(points[:1]) is None
    assert utb_least.exponent([(2, 0.0), (4, 1.0)]) is None


def add_run(root, point, rows=()):
    folder = root / point.experiment.name / point.run_id
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"took_s": 1.0, "rows": list(rows)}))
    return folder


def test_a_page_says_of_which_experiments_runs_are_missing(tmp_path):
    study = Study(tmp_path)
    assert study.partly("bscl-mix90") == ""
    for number, point in enumerate(study.points("bscl-mix90"), start=1):
        add_run(tmp_path, point)
        wanted = f"bscl-mix90 ({number} of 3)" if number < 3 else ""
        assert study.partly("bscl-mix90") == wanted


def tiny(folder, **changes):
    """An experiment of two settings, in the long form three repetitions of three."""
    doc = document(
        name="tiny",
        run__back_end="ns3",
        grid={"traffic.persistent.long.count": [1, 2]},
        full={
            "repetitions": 3,
            "duration": "20s",
            "captures": False,
            "phases": [{"name": "more", "limit": "9kB", "duration": "5s"}],
            "grid": {"traffic.persistent.long.count": [1, 2, 4]},
        },
        **changes,
    )
    folder.mkdir(exist_ok=True)
    (folder / "tiny.toml").write_text(tomli_w.dumps(doc))
    return folder


def test_runs_of_an_older_file_are_not_drawn(tmp_path):
    old = Study(tmp_path / "runs", files=tiny(tmp_path / "files"))
    for point in old.points("tiny"):
        add_run(tmp_path / "runs", point)
    assert len(old.find("tiny")) == 2
    new = Study(tmp_path / "runs", files=tiny(tmp_path / "files", phases__0__duration="11s"))
    assert new.find("tiny") == [] and new.partly("tiny") == ""
    kept = add_run(tmp_path / "runs", new.points("tiny")[1])
    assert [r.path for r in new.find("tiny")] == [kept]


def test_the_long_form_is_the_short_one_with_what_it_names_in_its_place(tmp_path):
    study = Study(tmp_path, files=tiny(tmp_path / "files"))
    short, long = study.points("tiny"), replace(study, full=True).points("tiny")
    assert [len(short), len(long)] == [2, 9]
    assert [p.duration for p in long[0].experiment.phases] == [20, 5]
    assert [p.duration for p in short[0].experiment.phases] == [10]
    # It decides nothing in the short form.
    without = load.read(tmp_path / "files" / "tiny.toml")
    del without["full"]
    (tmp_path / "files" / "tiny.toml").write_text(tomli_w.dumps(without))
    assert [p.run_id for p in study.points("tiny")] == [p.run_id for p in short]
    assert not replace(study, full=True, files=tiny(tmp_path / "files")).captures("tiny")


class NoTwo:
    """A back end of real TCP that cannot have two flows."""

    name, several = "embedded", False

    def refuse(self, plan):
        return ["two flows: take ns3"] if len(plan.flows) == 2 else []


def test_real_tcp_leaves_out_what_it_cannot_run_and_says_so(tmp_path):
    simulated = Study(tmp_path / "runs", files=tiny(tmp_path / "files"))
    real = replace(simulated, back_end=NoTwo())
    assert [len(s.points("tiny")) for s in (simulated, real)] == [2, 1]
    assert real.left_out("tiny") == ["tiny: two flows: take ns3"]
    assert simulated.left_out("tiny") == []
    # Runs of one are not taken for runs of the other.
    (one,) = real.points("tiny")
    assert one.experiment.run.back_end == "embedded"
    assert one.run_id not in {p.run_id for p in simulated.points("tiny")}
    paper = command.Paper("Tiny", ("tiny",), lambda _: [])
    slow = {"phase": "a", "trusted": False, "why_not_trusted": "reports lost"}
    add_run(tmp_path / "runs", one, [{"phase": "b", "trusted": True}, slow])
    assert f"Not to be trusted: {one.run_id} a: reports lost." in command._about(paper, real)
    assert "Left out, as it does not run there: tiny: two flows" in command._about(paper, real)
    assert "with ns-3" in command._about(paper, simulated)
    assert "trusted" not in command._about(paper, simulated)


# A paper of one tiny experiment; its runs are made by nothing but a clock.
PAPER = """
import sys, time
from pathlib import Path
from tidemark_lab.__main__ import main
from tidemark_lab.experiment import rows
from tidemark_lab.experiment.backend import MeasuredPhase, Window
from tidemark_lab.papers import command, study
from tidemark_lab.papers.draw import Drawing, pairs
from tidemark_lab.papers.paper import Check, Figure

class Fake:
    name = "ns3"
    several = True
    def refuse(self, plan): return []
    def ready(self, out): pass
    def versions(self): return {}
    def offloads(self, plan): return None
    def run(self, plan, run_dir, progress):
        with open("log", "a") as log:
            log.write(run_dir.name + "\\n")
        (run_dir / "capture").mkdir()
        (run_dir / "capture" / "packets").write_text("x")
        time.sleep(0.1)
        window = Window(0, 10**9, 0, 10**9)
        return [MeasuredPhase(p.name, plan.first_limits(), [window])
                for p in plan.experiment.phases]

def row(program, plan, back_end, phase, run_dir):
    return [{"phase": phase.name, "switch": "s1", "limit_bytes": 9000.0, "seconds": 1.0,
             "utilisation": 0.9 + plan.seed / 100, "loss_rate": 0.01, "n_b": 4.0, "true_n_b": 4,
             "trusted": True, "why_not_trusted": ""}]

def figures(s):
    runs = s.find("tiny")
    if not runs:
        return []
    count = "traffic.persistent.long.count"
    data = [(r.setting(count), r.row("one")["utilisation"]) for r in runs]
    checks = [Check("utilisation", "0.92", data[0][1], 0.9, 0.93)]
    fill = lambda axes, rows: axes[0].plot(*pairs(rows, 0, 1), "o-")
    drawing = Drawing("tiny", 1, 2.0, fill)
    return [Figure("Fig. 1", "Tiny", drawing, ("n", "utilisation"), data, checks, keys=1)]

rows.of_phase = row
command.Ns3 = Fake
command.PAPERS = {"tiny": command.Paper("Tiny", ("tiny",), figures)}
command.FILES = Path("files")
sys.exit(main(["paper", *sys.argv[1:]]))
"""


def test_a_long_paper_goes_on_where_it_was_killed_and_shows_the_spread(tmp_path):
    tiny(tmp_path / "files")
    argv = [sys.executable, "-c", PAPER, "tiny", "--out", "runs", "--jobs", "2"]

    def started():
        log = tmp_path / "log"
        return log.read_text().split() if log.exists() else []

    for wanted in (2, 5):
        process = subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 600
        while len(started()) < wanted:
            assert time.monotonic() < deadline and process.poll() is None, process.poll()
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        _, said = process.communicate()
        assert "paper tiny: 9 runs" in said and "left" in said
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runs" / "tiny-full"
    complete = [p for p in (folder / "runs" / "tiny").iterdir() if p.name.startswith("tiny")]
    assert len(complete) == 9 and not any((p / "capture").exists() for p in complete)
    # What began again was not complete: at most those under way at each kill.
    assert 9 <= len(started()) <= 9 + 2 * 2
    # Seeds 1, 2, 3: 0.92 with a standard deviation of 0.0082.
    page = (folder / "report.html").read_text()
    assert "0.92 ± 0.0082" in page and "3 repetitions" in page
    rows = list(csv.reader((folder / "fig-1.csv").open()))
    assert rows[0] == ["n", "utilisation", "utilisation_sd"] and len(rows) == 4
    assert not (tmp_path / "runs" / "tiny").exists(), "the short form has a folder of its own"


def test_repetitions_are_averaged_and_pooled_or_one_is_shown():
    def one(values, keys, ours):
        check = Check("x", "1", ours, 0.0, 2.0 * (ours or 0.0), why=f"at {ours}")
        found = figure([check])
        found.rows, found.columns, found.keys = list(values), ("n", "value"), keys
        return [found]

    (mean,) = repetitions.together([one([(1, 2.0), (2, None)], 1, 3.0), one([(1, 4.0)], 1, 5.0)])
    assert mean.columns == ("n", "value", "value_sd")
    assert mean.rows == [(1, 3.0, 1.0), (2, None, None)]
    assert (mean.checks[0].ours, mean.checks[0].spread, mean.checks[0].high) == (4.0, 1.0, 8.0)
    assert mean.checks[0].row()[2] == "4 ± 1"
    pair = [one([(1, 2.0)], None, 1.0), one([(1, 4.0)], None, None)]
    (pooled,) = repetitions.together(pair)
    assert pooled.rows == [(1, 2.0), (1, 4.0)] and pooled.checks[0].ours == 1.0
    (first,) = repetitions.together([one([(1, 2.0)], 0, 1.0), one([(1, 4.0)], 0, 3.0)])
    assert first.rows == [(1, 2.0)] and first.checks[0].ours == 2.0
    assert "2 repetitions: the first is drawn" in first.note
    alone = one([(1, 2.0)], 1, 1.0)
    assert repetitions.together([alone]) == alone


def test_repetitions_are_pale_behind_their_mean():
    def fill(axes, rows):
        axes[0].plot(*draw.pairs(rows, 0, 1), color="#112233", label="ours")
        axes[0].legend()

    drawing = draw.Drawing("x", 1, 2.0, fill)
    alone = drawing.svg([(1, 2.0), (2, 3.0)])
    both = drawing.svg([(1, 2.0), (2, 3.0)], [[(1, 1.0), (2, 2.0)], [(1, 3.0), (2, 4.0)]])
    assert alone.count("#112233") == 2 and alone.count("stroke-opacity: 0.25") == 0
    # The line and its place in the legend, and two pale lines that are not in it.
    assert both.count("#112233") == 4 and both.count("stroke-opacity: 0.25") == 2


def test_mice_are_better_with_the_small_buffer_where_as_many_are_slower_than_them():
    def mice(rates):
        return [flow(k, rate, "short", large=False) for k, rate in enumerate(rates)]

    low, high = list(range(1, 101)), list(range(51, 151))
    found = {oi_flows.SMALL: mice(high), oi_flows.LARGE: mice(low)}
    assert oi_flows.better_with_small(found) == 1.0
    # Crossing at the median: slow ones slower, fast ones faster with the small buffer.
    wide = [0.5 * v if v <= 50 else 2.0 * v for v in low]
    found = {oi_flows.SMALL: mice(wide), oi_flows.LARGE: mice(low)}
    assert oi_flows.better_with_small(found) == pytest.approx(0.5, abs=0.02)
    assert oi_flows.better_with_small({oi_flows.SMALL: [], oi_flows.LARGE: mice(low)}) is None


def test_the_first_bursts_are_those_of_the_file():
    (point,) = Study(Path("none")).points("srb-short")
    assert point.experiment.traffic.open_loop[0].initial_window == srb.FIRST_BURST
    assert srb.slow_start_bursts(srb.TRANSFER_PACKETS, srb.FIRST_BURST) == [2, 4, 8]
