# SPDX-License-Identifier: Apache-2.0
import json
import subprocess

import pytest

from tidemark_lab.experiment import load
from tidemark_lab.experiment.embedded import configs
from tidemark_lab.experiment.embedded.layout import Layout
from tidemark_lab.experiment.load import FILES
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.traffic import Truth, planned_truth


def layout():
    experiment = load.check(load.read(FILES / "demo.toml"), "demo")
    return Layout(Plan.of(experiment, 1), "ffff")


def spec():
    return configs.traffic(layout())


def test_the_program_accepts_the_spec(tmp_path, binary):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec()))
    done = subprocess.run(
        [binary("tidemark-traffic"), "validate", "--spec", path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "16 flows" in done.stderr


def test_only_remotely_bottlenecked_flows_come_from_behind_a_sender():
    behind = {a.address for a in layout().access.values()}
    flows = spec()["flows"]
    found = {f["name"] for f in flows if f["source"].split(":")[0] in behind}
    assert found == {"rbp-1", "rbp-2"}
    assert {f["name"] for f in flows if f["kind"] == "wl"} == {"wl-1", "wl-2"}


def test_window_limited_flows_go_to_the_listener_with_the_small_buffer():
    document = spec()
    small = [listener for listener in document["listeners"] if "receive_buffer_bytes" in listener]
    assert len(small) == 1
    wl = [f["destination"] for f in document["flows"] if f["kind"] == "wl"]
    assert set(wl) == {small[0]["address"]}


def test_short_flows_make_up_their_share():
    arrivals = sum(p["arrivals_per_s"] for p in spec()["poisson"])
    assert arrivals * 20_000 * 8 == pytest.approx(0.03 * 100e6)


def flow(name, kind, start, stop, rtt=10.0, error=None):
    return {
        "name": name,
        "kind": kind,
        "start": {"unix_ns": start},
        "stop": {"unix_ns": stop},
        "base_rtt_ms": rtt,
        "error": error,
    }


def test_truth_counts_what_was_there_all_the_time():
    truth = Truth(
        {
            "flows": [
                flow("a", "lbp", 0, 100, 10.0),
                flow("b", "lbp", 0, 100, 40.0),
                flow("late", "lbp", 60, 100),
                flow("failed", "lbp", 0, 100, error="reset"),
                flow("r", "rbp", 0, 100),
                flow("s1", "short", 10, 20),
                flow("s2", "short", 55, 56),
            ]
        }
    )
    assert truth.phase(50, 90) == {"n_b": 2, "t_e_ms": 16.0, "rbp": 1, "wl": 0, "short": 1}


@pytest.mark.parametrize(
    ("start", "stop", "there"),
    [(1000, 2000, 1), (1010, 1990, 1), (1011, 2000, 0), (1000, 1989, 0)],
)
def test_a_flow_that_ends_with_the_phase_was_there_all_the_time(start, stop, there):
    truth = Truth({"flows": [flow("a", "lbp", start, stop)]})
    assert truth.phase(1000, 2000)["n_b"] == there


def test_planned_truth_is_that_of_the_file():
    assert planned_truth(spec()) == {
        "n_b": 12,
        "t_e_ms": pytest.approx(19.2),
        "rbp": 2,
        "wl": 2,
    }
