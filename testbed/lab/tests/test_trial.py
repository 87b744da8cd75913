# SPDX-License-Identifier: Apache-2.0
"""Rules on trial: the candidates, their judgement, and one short trial on real TCP."""

import json
import math
import random
from itertools import pairwise
from types import SimpleNamespace

import pytest

from tidemark_lab import netns
from tidemark_lab.__main__ import main
from tidemark_lab.api import ApiError
from tidemark_lab.errors import LabError
from tidemark_lab.experiment import grid, load
from tidemark_lab.experiment.backend import Place
from tidemark_lab.experiment.live import Links
from tidemark_lab.experiment.load import FILES, ExperimentError
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.progress import Progress
from tidemark_lab.report.trial import draw
from tidemark_lab.trial import candidates, managed, outcome, ranking, table
from tidemark_lab.trial.hold import Seconds
from tidemark_lab.trial.judge import Trial, tried_one

PORTS = ["--console-port", "18580", "--switch-port", "19559"]
PORTS += ["--collector-port", "19560", "--metrics-port", "19561"]
TARGETS = {"utilisation": 0.98, "loss_rate": 0.01, "delay_ms": 30.0}


def rule(name, size, applies=True):
    return {"id": name, "buffer_bytes": size, "applies": applies}


def test_rules_that_ask_for_the_same_share_a_trial():
    found = candidates.of_rules(
        [
            rule("bdp", 312_500.0),
            rule("sawtooth", 312_900.0, applies=False),
            rule("stanford", 90_000.0, applies=False),
            rule("nothing", None),
            rule("tiny", 10.0),
            rule("huge", 1e12),
        ],
        {"limit_bytes": 91_000},
        least_bytes=6056,
        most_bytes=6_000_000,
    )
    assert [(c.limit_bytes, c.rules, c.applies) for c in found] == [
        (6056, ("tiny",), True),
        (90_500, ("stanford", "advice"), True),
        (312_700, ("bdp", "sawtooth"), True),
        (6_000_000, ("huge",), True),
    ]
    assert not candidates.of_rules([rule("x", 5e4, applies=False)], None, 1, 10**9)[0].applies


def test_the_range_of_the_loss_rate_holds_the_truth():
    """Losses in bursts of one sawtooth, as drop-tail causes them."""
    draws = random.Random(7)
    held = 0
    runs = 400
    for _ in range(runs):
        lost = []
        while len(lost) < 40:
            lost += [draws.randint(5, 25)] + [0] * draws.randint(0, 2)
        lost = lost[:40]
        # A burst of 15 in every second second on average, of 8000 arrivals.
        loss = outcome.loss_rate(lost, [8000] * 40)
        held += loss.low <= 15 / 2 / 8000 <= loss.high
    assert 0.85 <= held / runs <= 0.97, held / runs


def test_the_range_of_a_mean_holds_the_truth():
    rng = random.Random(5)
    inside = 0
    for _ in range(400):
        # Neighbouring seconds are correlated: a moving sum of two.
        noise = [rng.gauss(0, 0.01) for _ in range(41)]
        values = [0.97 + a + b for a, b in pairwise(noise)]
        low, high = outcome.mean_range(values)
        inside += low <= 0.97 <= high
    assert 0.84 <= inside / 400 <= 0.95
    assert outcome.mean_range([0.5] * 7) == (0.5, 0.5)


def test_without_enough_batches_the_loss_rate_may_be_anything():
    loss = outcome.loss_rate([1] * 7, [100] * 7)
    assert (loss.value, loss.low, loss.high) == (0.01, 0.0, 1.0)
    assert outcome.loss_rate([0] * 8, [100] * 8).relative_half_width == math.inf
    assert outcome.loss_rate([2] * 8, [100] * 8).relative_half_width == 0


def test_jain_and_student():
    assert outcome.jain([5.0, 5.0, 5.0]) == pytest.approx(1.0)
    assert outcome.jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert outcome.jain([]) is None
    assert outcome.student_90(2) == 2.920
    assert outcome.student_90(30) == 1.697
    assert outcome.student_90(500) == 1.645


def flow(kind, start_s, stop_s, complete=True):
    return {
        "kind": kind,
        "start": {"unix_ns": int(start_s * 1e9)},
        "stop": {"unix_ns": int(stop_s * 1e9)},
        "complete": complete,
    }


def test_completion_times_are_of_whole_short_flows_of_the_span():
    flows = [
        flow("short", 10.0, 10.25),
        flow("short", 9.9, 10.25),
        flow("short", 19.0, 20.5),
        flow("short", 12.0, 12.5, complete=False),
        flow("lbp", 11.0, 12.0),
    ]
    assert outcome.completion_times_ms(flows, int(10e9), int(20e9)) == [250.0]


def trial(limit, utilisation, loss, delay, rules=("bdp",)):
    return {
        "limit_bytes": limit,
        "rules": list(rules),
        "applies": True,
        "utilisation": utilisation,
        "loss_rate": loss,
        "loss_range": [loss * 0.9, loss * 1.1],
        "refused": None,
        "marked_rate": 0.0,
        "marked_range": [0.0, 0.0],
        "loss_settled": True,
        "delay_p99_ms": delay * 0.9,
        "delay_max_ms": delay,
        "completion_p50_ms": None,
        "completion_p95_ms": 80.0,
        "jain": 0.9,
        "cpu_was_stolen": False,
    }


def test_targets_come_before_the_size_of_the_buffer():
    trials = [
        trial(300_000, 1.0, 0.004, 24.0),
        trial(100_000, 0.99, 0.009, 8.0, ("advice", "srb")),
        trial(50_000, 0.975, 0.015, 4.0),
        trial(900_000, 1.0, 0.001, 72.0),
    ]
    order = [t["limit_bytes"] for t in ranking.ranked(trials, TARGETS)]
    assert order == [100_000, 300_000, 50_000, 900_000]
    assert ranking.shortfall(trials[2], TARGETS) == pytest.approx(0.5)
    assert ranking.shortfall(trials[3], TARGETS) == pytest.approx(1.4)
    # A target that is not given affects no trial.
    assert ranking.shortfall(trials[3], {"utilisation": 0.98, "loss_rate": None}) == 0


def test_marks_are_no_losses():
    """Marks have their own column, and both marks and drops decide how long a limit is held."""
    seconds = Seconds(
        arrivals=[8000.0] * 12, drops=[0.0] * 12, marks=[200.0] * 12, utilisation=[1.0] * 12
    )
    assert (seconds.loss.value, seconds.marked.value, seconds.known) == (0.0, 0.025, True)
    unmarked = Seconds(seconds.arrivals, [0.0] * 12, [0.0] * 12, seconds.utilisation)
    assert not unmarked.known
    marked = {**trial(100_000, 0.99, 0.0, 8.0), "marked_rate": 0.05, "marked_range": [0.04, 0.06]}
    assert ranking.shortfall(marked, TARGETS) == 0
    document = {
        "name": "ecn12",
        "about": "with ECN",
        "targets": TARGETS,
        "trials": ranking.ranked([marked], TARGETS),
    }
    assert "| none | 5.000% (4.000% to 6.000%) |" in table.markdown(document)


def test_a_refused_limit_is_a_row():
    class Refuses:
        name = "reno1"
        progress = Progress()

        def __init__(self, status):
            self.status = status

        def set_limit(self, _switch, _limit, _reason):
            raise ApiError("beyond the largest limit", self.status)

    candidate = candidates.Candidate(7_000_000, ("advice", "fpq"), True)
    row, phase = tried_one(Refuses(422), candidate, "reno1")
    assert phase is None
    trials = ranking.ranked([row, trial(300_000, 1.0, 0.004, 24.0)], TARGETS)
    assert [t["rank"] for t in trials] == [1, None]
    document = {"name": "reno1", "about": "one", "targets": TARGETS, "trials": trials}
    text = table.markdown(document)
    assert "| - | 7000.0 | advice, fpq |" in text and "refused: beyond the largest" in text
    assert "Tidemark's advice was refused." in text
    assert draw([document]).count("largest delay") == 1
    # An unreachable controller is not a result.
    with pytest.raises(ApiError):
        tried_one(Refuses(0), candidate, "reno1")


def test_the_table_says_where_the_advice_lost():
    trials = [
        trial(300_000, 1.0, 0.004, 24.0, ("advice",)),
        trial(100_000, 0.99, 0.009, 8.0, ("srb",)),
    ]
    document = {
        "name": "reno4",
        "about": "four Reno flows",
        "targets": TARGETS,
        "trials": ranking.ranked(trials, TARGETS),
    }
    text = table.markdown(document)
    assert "Tidemark's advice came 2 of 2; srb did better." in text
    assert "| 1 | 100.0 | srb | 99.00% | 0.900% (0.810% to 0.990%)" in text
    assert draw([document, document]).count("largest delay") == 2


class Offered:
    """A running lab with a controller's rules and its advice."""

    def __init__(self, rules, advice):
        self.progress = Progress()
        self.answers = {"/advice": {"advice": {**advice, "rules": rules}}}
        self.controller = self
        path = FILES / "trial" / "trial-reno1.toml"
        point = grid.points(load.read(path), str(path))[0]
        self.plan = Plan.of(point.experiment, point.seed)
        self.links = Links(self.plan, [Place(10, 5)], self, lambda: None)

    def get(self, path):
        return self.answers[path.partition("?")[0]]


class Recorded:
    """A case whose runs are recorded rows; no lab."""

    def __init__(self, traffic, back_end, delays):
        self.progress = Progress()
        path = FILES / "trial" / f"trial-{traffic}.toml"
        (self.point,) = grid.points(load.read(path), str(path))
        self.name, self.back_end = traffic, SimpleNamespace(name=back_end)
        self.delays, self.changed, self.folders = delays, [], []

    def run(self, conduct, changed=None, folder=None):
        self.folders.append(folder)
        if changed is None:
            return SimpleNamespace(rows=[])
        experiment = self.point.changed(changed).experiment
        plan = Plan.of(experiment, 1)
        begun = []
        live = SimpleNamespace(plan=plan, name=self.name, begin=lambda: begun.append(True))
        (phase,) = conduct(live)
        assert begun == [True] and phase == plan.first_limits()
        algorithm = experiment.topology.switches[0].aqm.algorithm
        delay, utilisation = self.delays[algorithm]
        row = {"aqm": plan.law(0), "occupancy_max_bytes": 12_500 * delay, "transfers": 90}
        row |= dict.fromkeys(("completion_p50_ms", "completion_p95_ms"), 80.0)
        row |= {"delay_p99_ms": delay, "delay_max_ms": delay, "jain": 0.9}
        return SimpleNamespace(rows=[{**row, "utilisation": utilisation}])


@pytest.fixture
def on_record(monkeypatch):
    def tried(_live, _name, limits, _label):
        out = trial(0, 0, 0.002, 0)
        keys = ("refused", "loss_rate", "loss_range", "marked_rate", "marked_range")
        return {k: out[k] for k in (*keys, "loss_settled", "cpu_was_stolen")}, limits

    monkeypatch.setattr(managed, "tried", tried)


def test_queue_management_ranks_with_the_limits(on_record):
    seen = {"codel": (9, 0.99), "fq_codel": (22, 0.99), "pie": (20, 0.985), "red": (8, 0.9)}
    case = Recorded("reno12", "embedded", seen)
    found = managed.try_all(case, managed.laws(None))
    laws = ["codel", "fq-codel", "pie", "red-min-threshold-0.1667bdp"]
    assert case.folders == [f"aqm-{law}" for law in laws]
    limits = [
        trial(200_000, 1.0, 0.004, 16.0, ("advice", "srb")),
        trial(300_000, 1.0, 0.003, 24.0),
    ]
    trials = ranking.ranked([*limits, *found], TARGETS)
    order = [(t["rank"], t["limit_bytes"], t.get("aqm")) for t in trials]
    assert order == [
        (1, None, "codel"),
        (2, 200_000, None),
        (3, None, "pie"),
        (4, None, "fq_codel"),
        (5, 300_000, None),
        # C·T̄ is 312 500 bytes.
        (6, None, "red:min_threshold=52094B"),
    ]
    document = {"name": "reno12", "about": "twelve", "targets": TARGETS, "trials": trials}
    text = table.markdown(document)
    assert "| 1 | none; queue 112.5 | codel | 99.00% | 0.200%" in text
    assert "Tidemark's advice came 2 of 6; codel did better." in text
    assert "neither advice nor a verdict" in text
    assert draw([document]).count("largest delay") == 1
    assert "neither advice" not in table.markdown({**document, "trials": trials[1:2]})


def test_packets_are_marked_where_the_limits_mark_them(on_record):
    case = Recorded("ecn12", "embedded", {"codel": (9, 0.99)})
    (found,) = managed.try_all(case, managed.laws(["codel:target=2ms"]))
    assert found["aqm"] == "codel:target=2ms,ecn=on"


def test_queue_management_can_be_named_and_left_out(capsys):
    assert [a.algorithm for a in managed.laws(None)] == ["codel", "fq_codel", "pie", "red"]
    assert managed.laws(["none"]) == ()
    assert list(map(str, managed.laws(["pie", "codel:ecn", "pie"]))) == ["pie", "codel:ecn=on"]
    with pytest.raises(ExperimentError, match='--aqm: "blue": there is no such algorithm'):
        managed.laws(["blue"])
    case = Recorded("reno12", "bmv2", {})
    assert managed.try_all(case, managed.laws(None)) == [] and case.folders == []
    assert "queue management left out: only embedded" in capsys.readouterr().err


def test_some_rules_alone_are_tried(capsys):
    offered = Offered([rule("bdp", 3e5), rule("srb", None)], {"limit_bytes": 9e4})

    def tried(*names):
        return [c.rules for c in Trial(names).offered(offered)]

    assert tried() == [("advice",), ("bdp",)]
    assert tried("bdp") == [("bdp",)]
    assert tried("advice", "srb") == [("advice",)]
    assert "srb: gives no buffer here, left out" in capsys.readouterr().err
    with pytest.raises(LabError, match="no rule tiny: there are bdp, srb, advice"):
        tried("bdp", "tiny")


@pytest.mark.root
def test_a_trial_on_real_tcp(tmp_path):
    rules = ("bscl_loss", "single_scalable", "stanford", "bdp", "advice")
    short = ["run.warmup=10s", "phases.limit.settle=2s", "phases.limit.duration=6s"]
    argv = ["run", "trial", "--only", "reno12", "--rules", ",".join(rules), "--out", str(tmp_path)]
    argv += ["--aqm", "codel"]
    for setting in short:
        argv += ["--set", setting]
    before = netns.names()
    assert main([*argv, *PORTS]) == 0
    assert netns.names() <= before
    (run_dir,) = tmp_path.iterdir()
    (document,) = json.loads((run_dir / "trial.json").read_text())["traffics"]
    trials = document["trials"]
    (codel,) = (t for t in trials if t["limit_bytes"] is None)
    trials.remove(codel)
    assert codel["aqm"] == "codel" and codel["rank"] and codel["loss_rate"] > 0
    assert (run_dir / "reno12" / "aqm-codel" / "run.json").is_file()
    assert sorted(name for t in trials for name in t["rules"]) == sorted(rules)
    (of_the_bdp,) = (t for t in trials if "bdp" in t["rules"])
    assert of_the_bdp["utilisation"] >= 0.95
    sizes = [t["limit_bytes"] for t in sorted(trials, key=lambda t: t["limit_bytes"])]
    assert len(sizes) >= 4 and sizes[-1] > 4 * sizes[0]
    assert not any(t["refused"] for t in trials)
    for t in trials:
        # A frame of 1514 bytes takes 1538 on the wire; short frames have more overhead.
        longest_ms = 1.03 * t["limit_bytes"] * 8 / 100e6 * 1e3 + 3
        assert t["delay_max_ms"] <= longest_ms, t
        assert 0.1 < t["utilisation"] <= 1.01
        assert t["short_flows"] > 20 and 0 < t["jain"] <= 1
    largest, smallest = (
        next(t for t in trials if t["limit_bytes"] == s) for s in (sizes[-1], sizes[0])
    )
    assert largest["utilisation"] >= smallest["utilisation"]
    assert largest["delay_max_ms"] > smallest["delay_max_ms"]
    assert (run_dir / "trial.svg").stat().st_size > 5_000
    assert "## reno12" in (run_dir / "trial.md").read_text()
