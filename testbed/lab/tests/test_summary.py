# SPDX-License-Identifier: Apache-2.0
import copy
import json
import re
from pathlib import Path

import pytest

from tidemark_lab import checks, offline, summary, verdict
from tidemark_lab.application import Transfers
from tidemark_lab.demo import conclusion, tables
from tidemark_lab.experiment import load
from tidemark_lab.experiment.backend import MeasuredPhase
from tidemark_lab.experiment.plan import Limits, Plan
from tidemark_lab.formats import MISSING

TRUTH = {"n_b": 12, "t_e_ms": 19.2, "rbp": 2, "wl": 2, "short": 300}


def estimate(value, low=None, high=None):
    return {
        "value": value,
        "low": value if low is None else low,
        "high": value if high is None else high,
        "evidence": "probed",
        "samples": 10,
    }


ADVICE = {
    "limit_bytes": 50_000,
    "rule": "bscl_utilisation",
    "predicted": {
        "utilisation": {"value": 0.99, "low": 0.98, "high": 1.0},
        "loss_rate": {"value": 0.003, "low": 0.002, "high": 0.004},
        "delay_ms": {"value": 4.0, "low": 4.0, "high": 4.1},
    },
    "reasons": ["because"],
}


VERDICT = {
    "version": 1,
    "answer": "too_big",
    "in_force_bytes": 312_500.0,
    "low_bytes": 40_000,
    "set_bytes": 50_000,
    "high_bytes": 61_000,
    "chance": 0.93,
    "because": "at 312 kB utilisation is 99.8 %",
    "curve": [],
}


def phase(name="first"):
    return {
        "name": name,
        "state": "complete",
        "reports": {"received": 160_000, "lost": 0, "malformed": 0, "more": 1},
        "join": {"candidates": 100, "matched": 99, "matched_fraction": 0.99},
        "links": [
            {
                "node": 10,
                "port": 5,
                "start_ns": 5,
                "end_ns": 25,
                "start_s": 1.0,
                "end_s": 21.0,
                "limit": {"action": "drop_tail", "limit_bytes": 312_500},
                "estimate": {
                    "utilisation": {"mean": 0.998, "p01": 0.9},
                    "loss_rate": 0.001,
                    "drops": 160,
                    "ce_marked": 0,
                    "delay_ms": {"mean": 12.0, "p50": 12.0, "p99": 25.0, "max": 25.1},
                    "occupancy_bytes": {"p50": 1e5, "p99": 3e5, "max": 312_900.0},
                    "limit_bytes": 312_500,
                    "estimates": {
                        "n_b": estimate(12.0, 11.0, 13.0),
                        "alpha": estimate(0.5),
                        "mean_loss_burst": None,
                        "delta": estimate(2.5),
                        "t_e_ms": estimate(19.4),
                        "c_e_share": estimate(0.9),
                        "regime": {"value": "elastic", "evidence": "probed", "why": "x"},
                    },
                    "flows": [],
                },
                "advice": ADVICE,
                "verdict": VERDICT,
            }
        ],
    }


def summarised(one, why_not_trusted=""):
    row = {"stolen_cpu": 0.001, "late_p99_ms": 3.0, "why_not_trusted": why_not_trusted}
    return summary.phase_summary(
        one,
        TRUTH,
        limit_action="drop_tail",
        machine=row,
        base_rtt_ms=25.0,
        transfers=Transfers([30_000] * 100, [80.0] * 100, 2),
    )


def document():
    second = phase("second")
    second["links"][0] |= {"advice": None, "verdict": None}
    second["links"][0]["estimate"]["limit_bytes"] = 50_000
    second["links"][0]["estimate"]["occupancy_bytes"]["max"] = 50_900
    return {
        "config": {},
        "phases": [
            summarised(phase()),
            summarised(second),
        ],
    }


def test_a_phase_has_the_promised_fields():
    first = document()["phases"][0]
    assert first["utilisation"] == 0.998
    assert set(first["delay_ms"]) == {"p50", "p99", "max"}
    assert set(first["occupancy_bytes"]) == {"p50", "p99", "max"}
    assert first["limit_bytes"] == 312_500
    assert first["reports"] == {"received": 160_000, "lost": 0, "malformed": 0}
    assert first["join"] == {"matched_fraction": 0.99}
    for name in ("n_b", "alpha", "mean_loss_burst", "delta", "t_e_ms", "c_e_share", "regime"):
        assert set(first["estimates"][name]) == {"value", "low", "high"}
    assert first["estimates"]["n_b"] == {"value": 12.0, "low": 11.0, "high": 13.0}
    assert first["estimates"]["mean_loss_burst"]["value"] is None
    assert first["truth"]["n_b"] == 12
    assert first["advice"]["limit_bytes"] == 50_000
    assert first["advice"]["predicted"]["loss_rate"]["value"] == 0.003
    assert first["verdict"]["answer"] == "too_big"
    assert set(VERDICT) - set(first["verdict"]) == {"version", "curve"}


def test_the_text_begins_with_the_verdict():
    assert tables.text(document()).startswith(
        "phase first: buffer too big: 312.5 kB in force, 40.0 kB to 61.0 kB serve; set 50.0 kB "
        "(93 %); at 312 kB utilisation is 99.8 %\n"
    )


def test_a_spoiled_measurement_has_no_verdict():
    lost = phase()
    lost["reports"]["lost"] = 7
    joined = phase()
    joined["join"]["matched_fraction"] = 0.5
    late = "1 % of the reports came 31.8 ms late or more"
    for one, busy, why in ((phase(), late, late), (lost, "", "lost 7"), (joined, "", "joined")):
        said = summarised(one, busy)["verdict"]
        assert (said["answer"], said["set_bytes"]) == ("cannot_say", None)
        text = verdict.sentence(said)
        assert text.startswith("cannot say: this run cannot be trusted") and why in text


def test_the_table_shows_both_phases_the_prediction_and_the_truth():
    text = tables.text(document())
    for part in (
        "160 / 0",
        "312.5 kB",
        "50.0 kB",
        "99.8 %",
        "99.0 % (98.0 % to 100.0 %)",
    ):
        assert part in text, text
    assert "- because" in text
    # Estimate and truth.
    assert re.search(r"^N_b, flows +12\.0 \(11\.0 to 13\.0\) +12\.0 ", text, re.MULTILINE)


def test_the_table_shows_the_phases_as_applications_see_them():
    text = tables.text(document())
    for row in (
        "transfers, whole +100 +100",
        "their mean size +30\\.0 kB +30\\.0 kB",
        "completion time, p99 +80\\.0 ms +80\\.0 ms",
        # 80 ms for each of 1 + 70/6 rounds.
        "page load \\(model\\) +1013 ms +1013 ms",
        # 20 ms, half of 25 ms, and 25.1 ms of queue.
        "voice, mouth to ear \\(model\\) +57\\.6 ms",
        # R = 93.2 - 1.38 - 0.36.
        "voice, MOS of 1 to 4\\.5 \\(E-model\\) +4\\.37",
    ):
        assert re.search(f"^{row}", text, re.MULTILINE), (row, text)


def test_each_phase_of_the_demo_has_its_own_transfers_and_the_hosts_rtt():
    plan = Plan.of(load.check(load.read(load.FILES / "demo.toml"), "demo"), 1)
    measured = [
        MeasuredPhase(one["name"], [Limits("drop_tail", 312_500)], [], told=[one])
        for one in (phase(), phase("second"))
    ]
    transfers = [Transfers([30_000] * 20, [80.0] * 20, 2), None]
    run = conclusion.summary_of(
        plan, measured, [TRUTH] * 2, transfers, Path("runs/x"), [{}, {"stolen_cpu": 0.1}]
    )
    first, second = (p["application"] for p in json.loads(json.dumps(run))["phases"])
    assert first["transfers"] == {
        "completed": 20,
        "not_completed": 2,
        "mean_bytes": 30_000,
        "completion_ms": {"p50": 80, "p95": 80, "p99": None},
    }
    assert first["page"]["load_ms"] == pytest.approx(1013, abs=1)
    # Half of the mean of 10, 20, 30 and 40 ms, one packet, and the largest delay.
    assert first["voice"]["mouth_to_ear_ms"] == pytest.approx(12.5 + 20 + 25.1)
    # The run is still in progress.
    assert second["transfers"]["completed"] is None and second["page"]["load_ms"] is None
    assert second["voice"] == first["voice"]
    assert "page load (model)                 1013 ms" in tables.text(run)


def test_unknown_is_a_dash_and_an_older_summary_has_no_such_table():
    run = document()
    first = run["phases"][0]["application"]
    first["voice"]["mos"] = None
    first["transfers"]["completed"] = 0
    text = tables.text(run)
    assert re.search(rf"^voice, MOS .* +{MISSING} +4\.37$", text, re.MULTILINE), text
    assert re.search(r"^transfers, whole +0 +100$", text, re.MULTILINE), text
    for phase_of_old in run["phases"]:
        del phase_of_old["application"]
    assert tables.application(run)[1] == []
    assert "voice" not in tables.text(run) and "\n\n\n" not in tables.text(run)


def test_checks_hold_for_a_good_run_and_name_what_is_wrong():
    good = document()
    assert all(c.ok for c in checks.judge(good, 50_000))

    def failing(change, read_back=50_000):
        bad = copy.deepcopy(good)
        change(bad["phases"])
        return [c.text for c in checks.judge(bad, read_back) if not c.ok]

    def nothing(_):
        pass

    assert failing(lambda p: p[0]["reports"].update(lost=1)) == ["first: reports lost 1"]
    assert len(failing(lambda p: p[1]["join"].update(matched_fraction=0.9))) == 1
    assert len(failing(lambda p: p[0]["estimates"]["n_b"].update(value=10.4))) == 1
    assert len(failing(lambda p: p[0]["estimates"]["t_e_ms"].update(value=25.0))) == 1
    assert len(failing(lambda p: p[0]["occupancy_bytes"].update(max=312_500 + 1515))) == 1
    assert len(failing(lambda p: p[0].update(utilisation=0.94))) == 1
    assert len(failing(lambda p: p[1].update(why_not_trusted="1 % came late"))) == 1
    assert len(failing(nothing, read_back=49_999)) == 1

    def marks(ce_marked):
        return lambda p: p[0].update(limit_action="mark_ce", ce_marked=ce_marked)

    # A marking threshold does not bound the occupancy, but something must be marked.
    good["phases"][0]["occupancy_bytes"]["max"] = 400_000
    assert failing(marks(70)) == []
    (text,) = failing(marks(0))
    assert text.startswith("first: 0 packets marked CE")


def test_a_missed_estimate_does_not_spoil_a_run_but_lost_reports_do():
    run = document()
    run["phases"][0]["estimates"]["n_b"]["value"] = 10.4
    assert checks.spoiled(checks.judge(run, 50_000)) == 0
    run["phases"][0]["reports"]["lost"] = 1
    assert checks.spoiled(checks.judge(run, 49_999)) == 2


def test_differences_between_live_and_capture_beyond_rounding_are_named():
    first = document()["phases"][0]
    same = copy.deepcopy(phase()["links"][0]["estimate"])
    same["utilisation"] = 0.998
    assert offline.differences(first, same) == []
    same["estimates"]["n_b"]["value"] = 11.0
    same["estimates"]["delta"] = None
    found = offline.differences(first, same)
    assert len(found) == 2 and found[0].startswith("n_b"), found


def test_classes_are_compared_by_five_tuple():
    flows = [
        {
            "class": "LBP",
            "key": {"src": "198.18.0.11", "src_port": 1, "dst": "198.18.0.100", "dst_port": 5001},
        }
    ]
    truth = [
        {
            "name": "a",
            "kind": "lbp",
            "source": "198.18.0.11:1",
            "destination": "198.18.0.100:5001",
        },
        {
            "name": "b",
            "kind": "rbp",
            "source": "198.18.0.11:2",
            "destination": "198.18.0.100:5001",
        },
    ]
    result = summary.class_check(flows, truth)
    assert result == {
        "right": 1,
        "wrong": [{"name": "b", "kind": "rbp", "estimated": "unseen"}],
    }
