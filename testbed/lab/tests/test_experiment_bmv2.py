# SPDX-License-Identifier: Apache-2.0
"""Experiments on BMv2: tests without it, a run on a stand-in, and one on BMv2 if installed."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tomli_w
from experiment_files import TWO_SWITCHES, document

from tidemark_lab import netns
from tidemark_lab.__main__ import main
from tidemark_lab.bmv2 import command
from tidemark_lab.experiment import load, store
from tidemark_lab.experiment.bmv2 import configs as bmv2_configs
from tidemark_lab.experiment.bmv2.back_end import Bmv2
from tidemark_lab.experiment.bmv2.layout import Bmv2Layout
from tidemark_lab.experiment.embedded import configs
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.preflight import Paths, Ports

RATE = "9843200bit"  # 800 packets/s
PORTS = ["--console-port=18080", "--switch-port=19559"]
PORTS += ["--collector-port=19560", "--metrics-port=19561"]


def experiment(base=None, **changes):
    wanted = {"topology__offloads": False, "run__back_end": "bmv2"}
    for number in range(2 if base else 1):
        wanted[f"topology__switches__{number}__rate"] = RATE
    return document(base, **{**wanted, **changes})


def plan(doc):
    return Plan.of(load.check(doc, "x"), 1)


def layout():
    return Bmv2Layout(plan(experiment()), "abcd")


def test_the_path_has_the_delays_and_bmv2_the_bottleneck_and_the_reports():
    made = layout()
    assert made.path_ports() == [
        "1=p1@tm-abcd-path,delay=10000us,queue=8192p,gro=off",
        "2=p2@tm-abcd-path,delay=30000us,queue=8192p,gro=off",
        "3=p3@tm-abcd-path,delay=10000us,queue=8192p,gro=off",
    ]
    assert made.bmv2_interfaces() == {1: "p1", 3: "p3", 4: "p4"}
    assert str(made.host_end(made.plan.hosts[1])) == "p2@tm-abcd-path"
    assert len(made.management_interface) <= 15


def controller_document(tmp_path):
    paths = Paths.find()
    return bmv2_configs.controller(
        configs.controller(layout(), Ports(), paths, tmp_path), layout(), paths, 9559
    )


def test_only_bmv2_reports_and_both_switches_reach_every_host(tmp_path):
    bmv2, path = controller_document(tmp_path)["switches"]
    assert (bmv2["node"], path["node"]) == (10, 11)
    assert bmv2["provision"]["reports"]["port"] == 4
    assert bmv2["provision"]["limits"]["3"]["action"] == "drop_tail"
    assert not {"reports", "watch", "limits"} & set(path["provision"])
    # The receiver comes first.
    assert [f["port"] for f in bmv2["provision"]["forward"]] == [3, 1, 1]
    assert [f["port"] for f in path["provision"]["forward"]] == [3, 1, 2]
    assert bmv2["provision"]["flood_ports"] == [1, 3]
    assert path["provision"]["flood_ports"] == [1, 2, 3]


def test_the_controller_accepts_its_configuration(tmp_path, binary):
    config = tmp_path / "controller.toml"
    config.write_text(tomli_w.dumps(controller_document(tmp_path)))
    argv = [binary("tidemark-controller"), "validate", "--config", config]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("base", "changes", "says"),
    [
        (None, {}, ""),
        (None, {"topology__offloads": True}, "topology.offloads: BMv2 takes whole packets only"),
        (None, {"topology__switches__0__rate": "100mbit"}, "send 8127 packets/s, .* 200 to 4000"),
        (None, {"topology__switches__0__rate": "2.54mbit"}, "write 2534.62kbit"),
        (TWO_SWITCHES, {}, "topology.switches: 2 switches"),
        (None, {"topology__switches__0__scheduling": "fair"}, "scheduling"),
        (None, {"topology__switches__0__delay": "90ms"}, "delay more than its round trip"),
    ],
)
def test_what_it_cannot_do_is_refused_by_its_key(base, changes, says):
    found = "\n".join(Bmv2().refuse(plan(experiment(base, **changes))))
    if says:
        assert re.search(says, found), found
    else:
        assert found == ""


def test_without_bmv2_it_is_refused_with_what_to_do(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(experiment()))
    done = subprocess.run(
        [sys.executable, "-m", "tidemark_lab", "run", str(file), "--out", str(tmp_path / "runs")],
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path)},
        timeout=60,
    )
    assert done.returncode == 2
    assert "simple_switch_grpc is not on PATH" in done.stderr
    assert "--back-end embedded" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("waited_ms", "doubtful"), [(30.0, False), (200.0, True), (None, False)])
def test_a_starved_bmv2_makes_its_row_doubtful(waited_ms, doubtful):
    row = {"action": "drop_tail", "limit_bytes": 30_000.0, "threshold_bytes": None}
    row |= {"rate_bps": 10e6, "delay_p99_ms": waited_ms, "occupancy_max_bytes": 29_000}
    assert bool(Bmv2().doubts(row)) == doubtful


def short_run():
    return experiment(
        run__warmup="3s",
        traffic__persistent__0__congestion_control="reno",
        phases=[{"name": "half", "limit": "0.5bdp", "settle": "2s", "duration": "8s"}],
    )


def run_rows(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(short_run()))
    before = netns.names()
    assert main(["run", str(file), "--out", str(tmp_path / "runs"), *PORTS]) == 0
    assert netns.names() <= before
    (run_dir,) = store.find([tmp_path / "runs"])
    record = json.loads((run_dir / "run.json").read_text())
    return record, record["rows"]


@pytest.mark.root
def test_a_run_on_a_stand_in_for_bmv2(tmp_path, binary, monkeypatch):
    """Everything around BMv2: network, path, management, provisioning, Thrift, rows."""
    calls = tmp_path / "calls"
    tools = tmp_path / "tools"
    tools.mkdir()
    program = tools / command.PROGRAM
    stand_in = Path(__file__).parent / "bmv2_stand_in.py"
    argv = [sys.executable, stand_in, binary("tidemark-switch"), calls, "3", "9843200"]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, argv))} -- "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    record, (row,) = run_rows(tmp_path)
    assert record["back_end_versions"] == {"bmv2": "stand-in"}
    assert row["true_n_b"] == 4 and round(row["n_b"]) == 4
    assert row["reports_lost"] == 0 and row["utilisation"] > 0.9
    assert row["limit_bytes"] == 18_456
    assert row["occupancy_max_bytes"] <= 18_456 + 1514
    seen = [json.loads(line) for line in calls.read_text().splitlines()]
    started = [s for s in seen if not s[0].startswith("simple_switch:")]
    assert len(started) == 1 and {"--no-p4", "1@p1", "3@p3", "4@p4"} <= set(started[0])
    depths = [s for s in seen if s[0].endswith("set_egress_queue_depth")]
    assert depths == [["simple_switch:set_egress_queue_depth", p, 8192] for p in (1, 3, 4)]
    assert ["simple_switch:set_egress_queue_rate", 3, 800] in seen


@pytest.mark.root
@pytest.mark.skipif(command.find() is None, reason="simple_switch_grpc is not on PATH")
def test_a_run_on_bmv2(tmp_path, binary):
    binary("tidemark-traffic")
    record, (row,) = run_rows(tmp_path)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", record["back_end_versions"]["bmv2"])
    assert row["true_n_b"] == 4 and round(row["n_b"]) == 4
    assert row["reports_lost"] == 0 and row["utilisation"] > 0.8
    assert 0 < row["switch_cpu"] <= 1.05
    assert row["occupancy_max_bytes"] <= row["limit_bytes"] + 1514
