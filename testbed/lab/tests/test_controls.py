# SPDX-License-Identifier: Apache-2.0
"""Congestion controls as BPF programs: missing requirements are named; laws hold on real TCP."""

import math
import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise

import pytest
from controls_lab import need_bpf, reductions, run, samples, thresholds
from experiment_files import document

from tidemark_lab import controls
from tidemark_lab.errors import LabError
from tidemark_lab.experiment import load
from tidemark_lab.experiment.embedded.back_end import Embedded
from tidemark_lab.experiment.plan import Plan

HIGHSPEED = re.findall(r"\{(\d+), (\d+)\}", (controls.SOURCES / "highspeed.bpf.c").read_text())


def rfc_reduction(window):
    """b(w), RFC 3649 section 5."""
    low, high = math.log(38), math.log(83_000)
    return (0.1 - 0.5) * (math.log(window) - low) / (high - low) + 0.5


def rfc_growth(window):
    """a(w), RFC 3649 section 5."""
    b = rfc_reduction(window)
    return window**2 * 0.078 / window**1.2 * 2 * b / (2 - b)


def test_the_table_of_highspeed_is_the_rfcs():
    rows = [(int(window), int(reduction)) for window, reduction in HIGHSPEED]
    assert len(rows) == 70 and rows[0] == (38, 128)
    for number, (window, reduction) in enumerate(rows[1:], 2):
        assert rfc_growth(window - 1) < number <= rfc_growth(window)
        assert abs(reduction / 256 - rfc_reduction(window)) < 0.003
    # From its appendix B: growth 2, 3 and 4 from these windows on.
    assert [w for w, _ in rows[1:4]] == [118, 221, 347]


def test_what_is_missing_is_said_with_a_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("CLANG", "no-such-clang")
    monkeypatch.setattr(controls, "of_kernel", lambda: {"reno", "cubic"})
    doc = document(traffic__persistent__0__congestion_control=["vegas", "reno"])
    (said,) = Embedded().refuse(Plan.of(load.check(doc, "x"), 1))
    assert "no congestion control vegas" in said and "apt-get install clang" in said
    with pytest.raises(LabError, match="apt-get install clang"):
        controls.build("vegas", tmp_path)
    doc = document(traffic__persistent__0__congestion_control="westwood")
    (said,) = Embedded().refuse(Plan.of(load.check(doc, "x"), 1))
    assert "modprobe tcp_westwood" in said


def test_the_kernels_own_goes_first(monkeypatch):
    monkeypatch.setattr(controls, "of_kernel", lambda: {"reno", "vegas"})
    named = controls.names(["reno", "vegas", "scalable", "westwood"])
    assert named["vegas"] == "vegas" and named["scalable"] == "tm_scalable"
    assert named["westwood"] == "westwood"


HOLDS = """
import sys, time
from pathlib import Path
from tidemark_lab import controls
controls.Registered().add(["tm_scalable"], Path(sys.argv[1]))
print("there", flush=True)
time.sleep(60)
"""


@pytest.mark.root
def test_a_control_goes_with_the_process_that_registered_it(tmp_path):
    need_bpf()
    registered = controls.Registered()
    registered.add(["reno", *(controls.PREFIX + c for c in controls.OURS)], tmp_path)
    try:
        assert {controls.PREFIX + c for c in controls.OURS} <= controls.of_kernel()
        with pytest.raises(LabError, match="another lab"):
            controls.Registered().add(["tm_vegas"], tmp_path)
    finally:
        assert registered.remove() == []
    assert not any(c.startswith(controls.PREFIX) for c in controls.of_kernel())
    argv = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "there\n"
        assert "tm_scalable" in controls.of_kernel()
        os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while "tm_scalable" in controls.of_kernel():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.root
def test_a_program_that_the_kernel_refuses_is_said_with_its_words(tmp_path, monkeypatch):
    need_bpf()
    text = (controls.SOURCES / "scalable.bpf.c").read_text()
    reduces = "return most(tp->snd_cwnd - (tp->snd_cwnd >> 3), 2);"
    assert reduces in text
    # A field that congestion controls must not write.
    bad = text.replace(reduces, "tp->rcv_nxt = 1; return 2;")
    (tmp_path / "bad.bpf.c").write_text(bad)
    (tmp_path / "control.h").write_text((controls.SOURCES / "control.h").read_text())
    monkeypatch.setattr(controls, "SOURCES", tmp_path)
    with pytest.raises(LabError, match="refuses tm_bad as a BPF program"):
        controls.register(controls.build("bad", tmp_path))
    assert "no write support" in (tmp_path / "tm_bad.log").read_text()


def one_control(control, flows, phase, **changes):
    return document(
        topology__switches__0__rate="20mbit",
        run__warmup="2s",
        traffic__persistent__0__count=flows,
        traffic__persistent__0__congestion_control=control,
        phases=[{"name": "one", "settle": "4s", "duration": "12s", **phase}],
        **changes,
    )


def reduced(control, window):
    """Returns the threshold after a loss at this window."""
    if control == "scalable":
        return window - (window >> 3)
    row = max(k for k, (least, _) in enumerate(HIGHSPEED) if int(least) <= max(window, 38))
    return window - (window * int(HIGHSPEED[row][1]) >> 8)


@pytest.mark.root
@pytest.mark.parametrize("control", ["scalable", "highspeed"])
def test_a_loss_takes_what_the_law_says(control, tmp_path, binary):
    need_bpf()
    binary("tidemark-traffic")
    doc = one_control(control, 1, {"limit": "0.5bdp"}, topology__hosts__0__rtts=["80ms"])
    run_dir, record = run(doc, tmp_path)
    # The window may grow by one before the loss is noticed.
    there = [(w, t) for w, t in reductions(run_dir) if w >= 100]
    lawful = [t in {reduced(control, w + more) for more in (0, 1, 2)} for w, t in there]
    # A loss before the window has grown since the last one, or after a timeout, halves; Reno, which
    # always does, would have none that is lawful.
    assert len(there) >= 3 and sum(lawful) >= 0.5 * len(there), there
    assert '"tm_' in (run_dir / "truth.json").read_text()
    assert record["rows"][0]["drops"] > 0
    assert not any(c.startswith(controls.PREFIX) for c in controls.of_kernel())


@pytest.mark.root
def test_newreno_grows_half_as_fast_as_the_kernels_reno_and_halves(tmp_path, binary):
    need_bpf()
    binary("tidemark-traffic")
    doc = one_control(["reno", "newreno"], 2, {}, topology__hosts__0__rtts=["40ms"])
    run_dir, _ = run(doc, tmp_path)
    growth = []
    columns = ("cwnd_segments", "ssthresh_segments", "time_ns", "srtt_us")
    for states in samples(run_dir, *columns):
        grown, round_trips = 0, 0.0
        for (window, threshold, from_ns, _), (then, _, to_ns, srtt_us) in pairwise(states):
            if window >= threshold and 0 <= then - window <= 1:
                grown += then - window
                round_trips += (to_ns - from_ns) / 1e3 / srtt_us
        growth.append(grown / round_trips)
    slow, fast = sorted(growth)
    # The receiver acknowledges every other packet, and now and then one alone.
    assert 0.4 < slow < 0.7 and 0.85 < fast < 1.15
    taken = [threshold / window for window, threshold in reductions(run_dir) if window >= 10]
    assert len(taken) >= 3 and all(0.4 <= t <= 0.6 for t in taken)


@pytest.mark.root
def test_random_reno_halves_seldom_and_otherwise_keeps_its_window(tmp_path, binary):
    need_bpf()
    binary("tidemark-traffic")
    doc = one_control("random_reno", 3, {"limit": "0.5bdp"}, topology__hosts__0__rtts=["40ms"])
    run_dir, record = run(doc, tmp_path)
    assert record["rows"][0]["drops"] > 100
    kept, halved = [], []
    # The first one of each flow ends its slow start.
    for window, threshold in thresholds(run_dir):
        # Two is the least threshold: smaller windows do not show a halving.
        if window >= 4:
            (halved if threshold <= 0.6 * window else kept).append(window)
    assert len(halved) > 5 and len(kept) > 20


@pytest.mark.root
def test_vegas_keeps_a_few_packets_of_each_flow_in_the_queue(tmp_path, binary):
    need_bpf()
    binary("tidemark-traffic")
    _, record = run(one_control("vegas", 3, {"limit": "4bdp"}), tmp_path)
    (row,) = record["rows"]
    assert row["drops"] == 0 and row["utilisation"] > 0.95
    # ALPHA to BETA per flow, plus the queue that late flows include in their base RTT.
    assert 2 * 1514 < row["occupancy_p50_bytes"] < 3 * 8 * 1514 < row["limit_bytes"] / 4


@pytest.mark.root
def test_dctcp_reduces_by_half_of_the_share_of_marks(tmp_path, binary):
    need_bpf()
    binary("tidemark-traffic")
    marks = {"action": "mark_ce", "limit": "4bdp", "threshold": "20packets"}
    doc = one_control("dctcp", 2, {}, topology__hosts__0__rtts=["20ms"])
    doc["topology"]["switches"][0] |= marks
    run_dir, record = run(doc, tmp_path)
    (row,) = record["rows"]
    assert row["drops"] == 0 and row["ce_marked"] > 100 and row["utilisation"] > 0.98
    # After slow start, where the first mark halves.
    taken = [1 - threshold / window for window, threshold in reductions(run_dir)][20:]
    mean = sum(taken) / len(taken)
    # RFC 3168 halves each time, whatever share is marked.
    assert row["marked_rate"] / 4 < mean < row["marked_rate"], (mean, row["marked_rate"])
    assert mean < 0.25
