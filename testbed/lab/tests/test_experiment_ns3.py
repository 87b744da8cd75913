# SPDX-License-Identifier: Apache-2.0
"""Experiments in simulation. What needs ns-3 is skipped without: `make test-ns3`."""

import itertools
import json

import pyarrow.parquet as pq
import pytest
import tomli_w
from experiment_files import TWO_SWITCHES, document

from tidemark_lab.__main__ import main
from tidemark_lab.experiment import load, ns3_scenario, simulated, store
from tidemark_lab.experiment.embedded.back_end import Embedded
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.simulated import Ns3
from tidemark_lab.iterate import ns3


def plan(doc):
    return Plan.of(load.check(doc, "x"), seed=3)


def test_what_needs_a_controller_or_several_switches_is_refused():
    back_end = Ns3()
    assert back_end.refuse(plan(document())) == []
    assert "one bottleneck" in back_end.refuse(plan(document(TWO_SWITCHES)))[0]
    doc = document(controller={"window_s": 8.0})
    doc["phases"].append({"name": "auto", "duration": "9s", "mode": "auto"})
    refused = " ".join(back_end.refuse(plan(doc)))
    assert "phases[1].mode" in refused and "controller:" in refused


def text(doc):
    p = plan(doc)
    return ns3_scenario.scenario_text(p, simulated.timed_phases(p), ns3_scenario.flow_records(p))


def test_a_full_packet_takes_as_long_as_on_the_wire_and_limits_change_between_phases():
    doc = document()
    doc["phases"].append({"name": "two", "limit": "10packets", "settle": "2s", "duration": "4s"})
    lines = text(doc).splitlines()
    # 20 Mb/s with 1538 bytes on the wire for 1500 of IP.
    assert lines[0] == "link capacity_bps=19505851.8 limit_packets=50 mark_packets=0"
    assert lines[1] == "change at_s=21.0 limit_packets=10 mark_packets=0" or lines[1].startswith(
        "change at_s=21 "
    )
    assert lines[2].startswith("run seconds=27.5 warmup_s=6 seed=3")
    windows = [p.windows[0] for p in simulated.timed_phases(plan(doc))]
    assert [(w.start_ns, w.end_ns) for w in windows] == [
        (11_000_000_000, 21_000_000_000),
        (23_000_000_000, 27_000_000_000),
    ]


CLOSED = {
    "name": "web",
    "hosts": "near",
    "users": 4,
    "think": "500ms",
    "size": {"distribution": "exponential", "mean": "20kB"},
}


def test_a_user_is_a_chain_of_flows():
    records = ns3_scenario.flow_records(plan(document(traffic={"closed_loop": [CLOSED]})))
    names = [name for name, _ in records]
    assert len(set(names)) == len(names) > 20
    for number, (_, of_flow) in enumerate(records):
        assert of_flow[0]["id"] == number
        if len(of_flow) == 2:
            assert of_flow[1]["flow"] == number - 1 and of_flow[1]["think_s"] > 0
    firsts = [of_flow for _, of_flow in records if len(of_flow) == 1]
    assert len(firsts) == 4


DATAGRAMS = {"name": "udp", "hosts": "near", "count": 4, "rate": "8mbit"}


def test_datagrams_and_fair_queueing_are_records_of_the_scenario():
    doc = document(traffic__datagrams=[DATAGRAMS], topology__switches__0__scheduling="fair")
    lines = text(doc).splitlines()
    assert "fair quantum_bytes=1502" in lines
    udp = [line for line in lines if line.startswith("udp ")]
    assert len(udp) == 4 and all("rate_bps=2000000" in line for line in udp)
    assert [name for name, _ in ns3_scenario.flow_records(plan(doc))][4:] == [
        f"udp-{i}" for i in (1, 2, 3, 4)
    ]
    assert not any(line.startswith("fair ") for line in text(document()).splitlines())


def test_what_only_the_simulation_has_is_refused_elsewhere():
    doc = document(traffic__datagrams=[DATAGRAMS], topology__switches__0__scheduling="fair")
    doc["traffic"]["persistent"][0]["congestion_control"] = "newreno"
    refused = " ".join(Embedded().refuse(plan(doc)))
    assert "traffic.datagrams" in refused and "scheduling" in refused and "newreno" in refused


@pytest.fixture
def simulator():
    try:
        ns3.program()
    except ns3.Ns3Missing as error:
        pytest.skip(f"NOT CHECKED, experiments in simulation: {error}")


def test_a_simulated_run_has_the_limits_of_its_phases_and_a_truth(simulator, tmp_path):
    doc = document(
        run__warmup="3s",
        phases=[
            {"name": "a", "limit": "1bdp", "settle": "2s", "duration": "6s"},
            {"name": "b", "limit": "20packets", "settle": "2s", "duration": "6s"},
        ],
        traffic__closed_loop=[CLOSED],
    )
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(doc))
    assert main(["run", str(file), "--back-end", "ns3", "--out", str(tmp_path)]) == 0
    (run_dir,) = store.find([tmp_path])
    a, b = json.loads((run_dir / "run.json").read_text())["rows"]
    packets = pq.read_table(sorted((run_dir / "capture").glob("postcards-*")))
    limits = dict.fromkeys(packets["limit_bytes"].to_pylist())
    assert list(limits) == [50 * 1514, 20 * 1514]
    assert a["occupancy_max_bytes"] == 50 * 1514 and b["occupancy_max_bytes"] == 20 * 1514
    assert a["true_n_b"] == 4 and a["n_b"] == pytest.approx(4, abs=0.5)
    assert a["utilisation"] == pytest.approx(1, abs=0.01)
    # Users come back after they have thought.
    truth = json.loads((run_dir / "truth.json").read_text())["flows"]
    turns = sorted(
        (f["start"]["unix_ns"], f["stop"]["unix_ns"])
        for f in truth
        if f["name"].startswith("web-h1-1-")
    )
    assert len(turns) > 3
    assert all(one[1] < two[0] for one, two in itertools.pairwise(turns))
    assert a["transfers"] > 5 and a["completion_p50_ms"] > 20


def test_the_same_seed_gives_the_same_rows(simulator, tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(document(phases__0__duration="4s")))
    rows = []
    for place in ("a", "b"):
        argv = ["run", str(file), "--back-end", "ns3", "--out", str(tmp_path / place)]
        assert main([*argv, "--no-captures"]) == 0
        (run_dir,) = store.find([tmp_path / place])
        assert not (run_dir / "capture").exists()
        rows.append(json.loads((run_dir / "run.json").read_text())["rows"])
    assert rows[0] == rows[1]
