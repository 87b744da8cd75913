# SPDX-License-Identifier: Apache-2.0
"""Runs of the papers: those needed, continuing, the long form, other back ends."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w
from experiment_files import document
from paper_figures import figure

from tidemark_lab.__main__ import main
from tidemark_lab.experiment import load
from tidemark_lab.experiment.embedded.back_end import Embedded
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.simulated import Ns3
from tidemark_lab.outcome import EXIT_INTERRUPTED, EXIT_PREFLIGHT
from tidemark_lab.papers import (
    command,
    flows,
    runs,
    utb,
)
from tidemark_lab.papers.paper import Check
from tidemark_lab.papers.study import FILES, REPETITIONS, Study


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
            # Seeds and counts hardly change the number of flows and transfers.
            point = [p for p in long if p.repetition == 0][-1]
            assert Ns3().refuse(Plan.of(point.experiment, point.seed)) == []


def test_without_runs_there_is_no_report(tmp_path, capsys):
    for form in ([], ["--quick"]):
        assert main(["paper", "utb", *form, "--report", "--out", str(tmp_path)]) == 1
        assert "it has no runs" in capsys.readouterr().err


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
    """Three transfers to one port in a phase of 15 s, two of them half within it, one of which
    begins in it. The switch's clock differs from the senders'."""
    half = {"bytes_wanted": 1_000_000, "kind": "short", "complete": True}
    times = [(0, 10), (15, 25), (30, 40), (8, 12)]
    truth = [
        {
            **half,
            "name": f"t{begin}",
            "source": f"10.0.0.1:{port}",
            "destination": "10.0.0.9:5002",
            "start": {"unix_ns": begin * 10**9},
            "stop": {"unix_ns": end * 10**9},
        }
        # The first flow's port is used again after the phase.
        for port, (begin, end) in zip((41, 42, 41, 43), times, strict=True)
    ]
    (tmp_path / "truth.json").write_text(json.dumps({"flows": truth}))
    window = {"start_ns": 5, "end_ns": 20, "start_unix_ns": 5 * 10**9, "end_unix_ns": 20 * 10**9}
    record = {
        "phases": [{"name": "one", "windows": [window]}],
        "rows": [{"phase": "one", "switch": "s1", "rate_bps": 16e6}],
    }
    (tmp_path / "run.json").write_text(json.dumps(record))
    offered = flows.offered(runs.RunData(tmp_path), "one")
    assert offered.under_way == pytest.approx(14 / 15)
    assert offered.load == pytest.approx(2 * 8e6 / (15 * 16e6))
    (tmp_path / "links").mkdir()
    keys = [
        {"src": "10.0.0.1", "src_port": p, "dst": "10.0.0.9", "dst_port": 5002} for p in (41, 43)
    ]
    seen = [{"key": k, "packets": 9, "drops": 1} for k in keys]
    (tmp_path / "links" / "one-s1.json").write_text(json.dumps({"flows": seen}))
    found = flows.of_phase(runs.RunData(tmp_path), "one")
    assert [(f.name, f.bytes_per_s) for f in found] == [("t0", None), ("t8", 250_000.0)]


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
    """Writes an experiment of two settings; in the long form three, repeated three times."""
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
    # The long form affects nothing in the short one.
    without = load.read(tmp_path / "files" / "tiny.toml")
    del without["full"]
    (tmp_path / "files" / "tiny.toml").write_text(tomli_w.dumps(without))
    assert [p.run_id for p in study.points("tiny")] == [p.run_id for p in short]
    assert not replace(study, full=True, files=tiny(tmp_path / "files")).captures("tiny")


class NoTwo:
    """A real-TCP back end that cannot run two flows."""

    name, several = "embedded", False

    def refuse(self, plan):
        return ["two flows: take ns3"] if len(plan.flows) == 2 else []


def test_real_tcp_leaves_out_what_it_cannot_run_and_says_so(tmp_path):
    simulated = Study(tmp_path / "runs", files=tiny(tmp_path / "files"))
    real = replace(simulated, back_end=NoTwo())
    assert [len(s.points("tiny")) for s in (simulated, real)] == [2, REPETITIONS]
    assert real.left_out("tiny") == ["tiny: two flows: take ns3"]
    assert simulated.left_out("tiny") == []
    # Runs of one are not used for the other.
    one = real.points("tiny")[0]
    assert one.experiment.run.back_end == "embedded"
    assert one.run_id not in {p.run_id for p in simulated.points("tiny")}
    paper = command.Paper("Tiny", ("tiny",), lambda _: [])
    slow = {"phase": "a", "trusted": False, "why_not_trusted": "reports lost"}
    add_run(tmp_path / "runs", one, [{"phase": "b", "trusted": True}, slow])
    assert f"Not to be trusted: {one.run_id} (a): reports lost." in command._about(paper, real)
    assert "Left out, as it does not run there: tiny: two flows" in command._about(paper, real)
    assert "trusted" not in command._about(paper, simulated)


def test_a_paper_of_which_nothing_runs_on_real_tcp_is_refused(tmp_path, capsys, monkeypatch):
    paper = command.Paper("Four", ("ngi-four",), lambda _: [])
    monkeypatch.setitem(command.PAPERS, "ngi", paper)
    monkeypatch.setattr(Embedded, "refuse", lambda self, plan: ["two queues: take ns3"])
    argv = ["paper", "ngi", "--quick", "--back-end", "embedded", "--out", str(tmp_path)]
    assert main(argv) == EXIT_PREFLIGHT
    said = capsys.readouterr().err
    assert "left out: ngi-four: two queues: take ns3" in said
    assert "paper ngi: nothing of it runs on embedded: take ns3" in said


def test_on_real_tcp_the_short_form_has_several_seeds_and_the_kernels_reno():
    for experiment, groups in (("oi-persistent", 2), ("bscl-lbp", 1)):
        simulated = Study(Path("none")).points(experiment)
        real = Study(Path("none"), back_end=Embedded()).points(experiment)
        assert len(real) == REPETITIONS * len(simulated)
        assert {p.seed for p in real} == {1, 2, 3}
        traffic = real[0].experiment.traffic
        sending = [*traffic.persistent, *traffic.open_loop]
        assert len(sending) == groups
        assert all(g.congestion_control in ("reno", ["reno"]) for g in sending)
    long = Study(Path("none"), full=True, back_end=Embedded()).points("bscl-lbp")
    assert len(long) == len(Study(Path("none"), full=True).points("bscl-lbp"))


def test_a_control_of_real_tcp_alone_is_not_simulated():
    study = Study(Path("none"))
    controls = {p.settings[utb.ALGORITHM] for p in study.points("utb-others")}
    assert controls == {"cubic", "bbr", "scalable"}
    (said,) = study.left_out("utb-others")
    assert "ns-3 has no random_reno" in said


def test_pages_of_both_back_ends_link_to_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "in_clone", lambda _: tmp_path)
    paper = command.Paper("Tiny", ("tiny",), lambda _: [])
    monkeypatch.setitem(command.PAPERS, "tiny", paper)
    simulated = Study(tmp_path / "runs", files=tiny(tmp_path / "files"))
    real = replace(simulated, back_end=Embedded())
    other = [figure([Check("x", "1", 2.0, 0.9, 1.1, why="by the weather")])]
    command._write_docs("tiny", simulated, other, True)
    page = (tmp_path / "tiny.md").read_text()
    assert "embedded" not in page and "By the weather." in page
    command._write_docs("tiny", real, other, True)
    assert "By the weather." in (tmp_path / "tiny-embedded.md").read_text()
    # The first page is that of real TCP: the other leaves its reasons to its values.
    command._write_docs("tiny", simulated, other, True)
    page = (tmp_path / "tiny.md").read_text()
    assert "eather" not in page and "0 of 1 agree." in page
    assert "by the weather" in (tmp_path / "tiny" / "values.csv").read_text()
    page = " ".join((tmp_path / "tiny-embedded.md").read_text().split())
    assert page.startswith(
        "# Tiny, on real TCP Real TCP of the kernel through tidemark-switch: "
        "0 of 1 measured values agree within tolerances fixed beforehand; made by "
        "`tidemark_lab paper tiny --quick --back-end embedded --docs`. Also simulated: [tiny.md]"
    )
    page = " ".join((tmp_path / "tiny.md").read_text().split())
    assert page.startswith("# Tiny, simulated Simulated with ns-3: 0 of 1 measured")
    assert "Also on real TCP: [tiny-emb" in page


# A paper of one tiny experiment whose runs do nothing but wait.
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
    def ready(self, out): return []
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
    # Only incomplete runs started again: at most those running at each kill.
    assert 9 <= len(started()) <= 9 + 2 * 2
    # Seeds 1, 2, 3: 0.92 with a standard deviation of 0.0082.
    page = (folder / "report.html").read_text()
    assert "0.92 ± 0.0082" in page and "3 repetitions" in page
    rows = list(csv.reader((folder / "fig-1.csv").open()))
    assert rows[0] == ["n", "utilisation", "utilisation_sd"] and len(rows) == 4
    assert not (tmp_path / "runs" / "tiny").exists(), "the short form has a folder of its own"
