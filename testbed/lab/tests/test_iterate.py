# SPDX-License-Identifier: Apache-2.0
"""Iterated advice: the loop, the verdict, the flows, the table, and a short run on real TCP."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tidemark_lab import __main__ as command
from tidemark_lab import netns
from tidemark_lab.experiment import grid, load
from tidemark_lab.experiment.grid import Point
from tidemark_lab.experiment.load import FILES
from tidemark_lab.experiment.ns3_scenario import flow_records, scenario_text
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.simulated import timed_phases
from tidemark_lab.iterate import rounds, table
from tidemark_lab.iterate.judge import document
from tidemark_lab.iterate.simulated import Simulated
from tidemark_lab.json_types import JsonObject
from tidemark_lab.report.iterate import draw

TARGETS = {"utilisation": 0.98, "loss_rate": 0.01, "delay_ms": 50.0}


def interval(low: float, high: float) -> JsonObject:
    return {"value": (low + high) / 2, "low": low, "high": high}


class Link:
    """A link whose loss falls with the square of the limit; the advice aims at half of the bound.

    `exponent` is the advice's assumption."""

    def __init__(self, exponent: float = 2.0, given_up: list[str] | None = None):
        self.exponent = exponent
        self.given_up = given_up or []
        self.applied: list[int] = []

    def measure(self, number: int, limit_bytes: int) -> JsonObject:
        loss = 0.04 * (100_000 / limit_bytes) ** 2
        wanted = round(limit_bytes * (loss / 0.005) ** (1 / self.exponent))
        fine = abs(wanted / limit_bytes - 1) <= 0.05
        predicted = {
            "utilisation": interval(0.97, 1.0),
            "loss_rate": interval(0.004, 0.006),
            "delay_ms": interval(10, 40),
            "delay_mean_ms": interval(5, 20),
        }
        return {
            "measured": {
                "utilisation": 0.99,
                "utilisation_range": [0.985, 0.995],
                "marked_rate": 0.0,
                "loss_rate": loss,
                "loss_range": [loss * 0.9, loss * 1.1],
                "delay_mean_ms": 10.0,
                "delay_max_ms": 20.0,
            },
            "n_b": interval(9, 11),
            "n_b_true": 10,
            "advice": {
                "limit_bytes": wanted,
                "predicted": predicted,
                "infeasible": {"given_up": self.given_up} if self.given_up else None,
                "reasons": ["because"],
            },
            "verdict": {"answer": "fine" if fine else "too_small"},
            "caveats": [],
        }

    def apply(self, advice: JsonObject) -> int:
        self.applied.append(advice["limit_bytes"])
        return int(advice["limit_bytes"])


def test_advice_that_knows_the_law_ends_in_one_step():
    link = Link()
    done = rounds.iterate(link, 100_000)
    assert len(done) == 2 and link.applied == [done[1]["limit_bytes"]]
    assert done[0]["held"] == {}
    assert done[1]["held"] == {"utilisation": True, "loss_rate": True, "delay_mean_ms": True}
    assert rounds.verdict(done, TARGETS)["verdict"] == rounds.INSIDE


def test_a_limit_that_is_fine_or_nearly_the_advised_one_ends_the_rounds():
    one = Link().measure(0, 100_000) | {"limit_bytes": 100_000}
    assert not rounds.stays(one)
    assert rounds.stays(one | {"verdict": {"answer": "fine"}})
    assert rounds.stays(one | {"advice": {"limit_bytes": 102_900}})
    assert not rounds.stays(one | {"advice": {"limit_bytes": 103_100}})
    assert rounds.stays(one | {"advice": {"limit_bytes": None}})


def test_a_value_outside_whose_range_is_not_is_said_to_be_so():
    done = rounds.iterate(Link(), 100_000)
    targets = {"utilisation": 0.992}
    assert rounds.verdict(done, targets)["verdict"] == rounds.WITHIN_ERROR
    assert rounds.verdict(done, {"utilisation": 0.996})["verdict"] == rounds.WRONG


def test_a_range_holds_up_to_a_few_packets():
    predicted = {"utilisation": interval(0.9999, 1.0), "loss_rate": interval(0.01, 0.02)}
    came = {"utilisation": 0.99985, "loss_rate": 0.02001}
    assert rounds.held(predicted, came) == {"utilisation": True, "loss_rate": False}
    assert rounds.held(predicted, {"utilisation": 0.9997})["utilisation"] is False


def test_three_rounds_follow_the_advice_and_no_more():
    # It assumes that loss hardly falls, so it overshoots and returns.
    link = Link(exponent=0.8)
    done = rounds.iterate(link, 100_000)
    assert len(done) == 4 and len(link.applied) == 3
    assert done[1]["held"]["loss_rate"] is False


def test_outside_the_bounds_is_right_only_where_it_was_said():
    # Steps too small to reach the bound in three rounds.
    done = rounds.iterate(Link(exponent=20.0), 100_000)
    judged = rounds.verdict(done, TARGETS)
    assert judged["verdict"] == rounds.WRONG and judged["missed"] == ["loss"]
    done = rounds.iterate(Link(exponent=20.0, given_up=["loss"]), 100_000)
    assert rounds.verdict(done, TARGETS)["verdict"] == rounds.NONE_MEETS
    # Loss was given up, but not delay.
    strict = {**TARGETS, "delay_ms": 15.0}
    assert rounds.verdict(done, strict)["verdict"] == rounds.WRONG


def test_a_bound_is_missed_when_all_of_the_range_is_outside():
    measured = Link().measure(0, 100_000)["measured"]
    assert rounds.misses({**measured, "loss_range": [0.009, 0.02]}, TARGETS) == []
    assert rounds.misses({**measured, "loss_range": [0.011, 0.02]}, TARGETS) == ["loss"]
    for ends, missed in (([0.9, 0.979], ["utilisation"]), ([0.9, 0.981], [])):
        came = {**measured, "utilisation_range": ends}
        assert rounds.misses(came, {"utilisation": 0.98}) == missed


def test_the_table_says_what_ended_wrong():
    documents = [
        document("good", "of a test", TARGETS, rounds.iterate(Link(), 100_000)),
        document("bad", "of a test", TARGETS, rounds.iterate(Link(exponent=20.0), 100_000)),
    ]
    text = table.summary(documents)
    assert "1 of 2 traffics" in text and "not: bad" in text and "WRONG (loss)" in text
    wrong = table.markdown(documents[1])
    assert "**no**" in wrong and "10.0 (10)" in wrong
    assert draw(documents).startswith("<?xml")


def point(name: str, **overrides: object) -> Point:
    path = FILES / "iterate" / f"iterate-{name}.toml"
    values = {key.replace("__", "."): value for key, value in overrides.items()}
    return grid.points(load.read(path), str(path), values)[0]


def plan(name: str, **overrides: object) -> Plan:
    one = point(name, **overrides)
    return Plan.of(one.experiment, one.seed)


def tcp_flows(of: Plan) -> list[JsonObject]:
    return [r[0] for _, r in flow_records(of) if r[0]["record"] == "tcp"]


def test_at_least_eight_traffics_with_those_that_matter():
    files = sorted((FILES / "iterate").glob("*.toml"))
    assert len(files) >= 8
    plans = [plan(f.stem.removeprefix("iterate-")) for f in files]
    assert all(p.experiment.judge == "iterate" for p in plans)
    controls = [[f.congestion_control for f in p.flows if f.kind == "lbp"] for p in plans]
    assert ["cubic"] * 100 in controls
    assert any(p.experiment.topology.switches[0].action == "mark_ce" for p in plans)
    assert any("bbr" in c and len(set(c)) > 1 for c in controls)
    assert any(p.n_b(0) == 0 for p in plans)


def test_bscl_round_trips_have_a_harmonic_mean_of_60_ms():
    flows = plan("reno60", traffic__persistent__lbp__count=90).flows
    rtts = [f.host.rtt_s for f in flows if f.kind == "lbp"]
    assert len(rtts) / sum(1 / r for r in rtts) == pytest.approx(0.06, rel=0.02)


def test_the_flows_make_up_what_was_asked_for():
    asked = plan("bbr_mix", traffic__open_loop__short__load=0.2, phases__round__duration="400s")
    flows = tcp_flows(asked)
    assert [f["id"] for f in flows] == list(range(len(flows)))
    controls = [f["cc"] for f in flows if f["kind"] == "lbp"]
    assert sorted(controls) == ["Bbr"] * 3 + ["Cubic"] * 6 + ["LinuxReno"] * 6
    short = sum(f["bytes"] for f in flows if f["kind"] == "short") * 8 / 415.0
    assert short == pytest.approx(0.2 * 20e6, rel=0.1)
    assert all(f["window_packets"] > 0 for f in flows if f["kind"] == "wl")
    assert all(f["access_bps"] > 0 for f in flows if f["kind"] == "rbp")
    udp = [r[0] for _, r in flow_records(plan("open_loop")) if r[0]["record"] == "udp"]
    assert sum(f["rate_bps"] for f in udp) == pytest.approx(12.5e6)


class OneCase:
    """Only the parts of a case that limits need."""

    def __init__(self, name: str):
        self.point = point(name)


def at_limits(name: str, limit_bytes: int, marking: JsonObject | None = None) -> str:
    simulated = Simulated(OneCase(name))  # type: ignore[arg-type]
    advice = {"limit_bytes": limit_bytes, "marking": marking}
    changed = simulated.case.point.changed(simulated._limits(simulated.apply(advice)))
    of = Plan.of(changed.experiment, changed.seed)
    return scenario_text(of, timed_phases(of), flow_records(of))


def test_with_ecn_the_limit_is_the_threshold():
    assert "limit_packets=4000 mark_packets=70\n" in at_limits("ecn30", 70 * 1514 + 300)
    assert " ecn=1 " in at_limits("ecn30", 70 * 1514)
    above = at_limits("ecn30", 60 * 1514, {"limit_bytes": 90 * 1514})
    assert "limit_packets=90 mark_packets=60\n" in above
    assert "limit_packets=60 mark_packets=0\n" in at_limits("reno60", 60 * 1514)


@pytest.mark.root
def test_one_round_on_real_tcp(tmp_path: Path):
    before = netns.names()
    ports = ["--console-port", "18480", "--switch-port", "19859"]
    ports += ["--collector-port", "19860", "--metrics-port", "19861"]
    real = ["trial", "--judge", "iterate", "--back-end", "embedded", "--only", "reno12"]
    short = ["--rounds", "1", "--seconds", "8", "--warmup", "8"]
    # The verdict of such a short run is random.
    assert command.main(["run", *real, *short, "--out", str(tmp_path), *ports]) in (0, 1)
    assert netns.names() <= before
    (run_dir,) = tmp_path.iterdir()
    (document,) = json.loads((run_dir / "iterate.json").read_text())["traffics"]
    done = document["rounds"]
    first = done[0]
    assert first["n_b_true"] == 12 and first["n_b"]["value"] > 4
    assert 0.3 < first["measured"]["utilisation"] <= 1.01
    for before_it, one in pairwise(done):
        assert one["limit_bytes"] == pytest.approx(before_it["advice"]["limit_bytes"], rel=0.05)
        assert set(one["held"]) == {"utilisation", "loss_rate", "delay_mean_ms"}
    assert (run_dir / "iterate.svg").exists()
