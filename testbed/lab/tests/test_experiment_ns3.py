# SPDX-License-Identifier: Apache-2.0
"""Simulated experiments. Tests that need ns-3 are skipped without it: `make test-ns3`."""

import itertools
import json

import pyarrow.parquet as pq
import pytest
import tomli_w
from experiment_files import TWO_SWITCHES, document

from tidemark_lab.__main__ import main
from tidemark_lab.experiment import load, ns3, ns3_scenario, simulated, store
from tidemark_lab.experiment.load import FILES
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.simulated import Ns3


def plan(doc):
    return Plan.of(load.check(doc, "x"), seed=3)


def test_what_needs_a_controller_is_refused():
    back_end = Ns3()
    assert back_end.refuse(plan(document())) == []
    assert back_end.refuse(plan(document(TWO_SWITCHES))) == []
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
    # 20 Mb/s, with 1538 bytes on the wire per 1500 of IP.
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


def test_each_switch_is_a_link_with_its_own_changes_and_flows_enter_where_their_hosts_are():
    doc = document(TWO_SWITCHES, traffic__datagrams=[DATAGRAMS])
    doc["phases"].append(
        {"name": "two", "duration": "4s", "switches": {"second": {"limit": "10packets"}}}
    )
    lines = text(doc).splitlines()
    links = [line.split()[0] for line in lines if line.split()[0] in ("link", "change")]
    # Both start with 1 BDP; only the second changes.
    assert links == ["link", "link", "change"]
    assert "limit_packets=10 " in next(line for line in lines if line.startswith("change"))
    entering = [line.split()[1:] for line in lines if line.startswith("enters")]
    # First six flows over both links, then two and the datagrams over only the second.
    assert entering == [[f"id={i}", "link=1"] for i in range(6, 12)]
    nodes = simulated.described_nodes(plan(doc))
    assert [(k, n["name"]) for k, n in nodes.items()] == [("10", "first"), ("11", "second")]


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


def test_an_initial_window_is_that_of_every_flow_of_its_group():
    mice = {**CLOSED, "initial_window": 2}
    doc = document(traffic__closed_loop=[mice])
    lines = text(doc).splitlines()
    opens = [line.split()[1:] for line in lines if line.startswith("opens")]
    transfers = [line.split()[1] for line in lines if line.startswith("tcp") and "short" in line]
    assert opens == [[number, "packets=2"] for number in transfers]
    doc["traffic"]["persistent"][0]["initial_window"] = 4
    assert "opens id=0 packets=4" in text(doc).splitlines()


def test_a_smallest_rto_is_a_record_that_stands_before_the_flows():
    lines = text(document(traffic__min_rto="1s")).splitlines()
    assert lines.index("rto least_s=1") < next(
        k for k, line in enumerate(lines) if line.startswith("tcp ")
    )
    assert not any(line.startswith("rto") for line in text(document()).splitlines())


def test_a_control_that_ns3_has_not_is_refused():
    doc = document(traffic__persistent__0__congestion_control=["random_reno", "cubic"])
    assert Ns3().refuse(plan(doc)) == ["traffic: ns-3 has no random_reno: take embedded"]


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
    # Users return after their think time.
    truth = json.loads((run_dir / "truth.json").read_text())["flows"]
    turns = sorted(
        (f["start"]["unix_ns"], f["stop"]["unix_ns"])
        for f in truth
        if f["name"].startswith("web-h1-1-")
    )
    assert len(turns) > 3
    assert all(one[1] < two[0] for one, two in itertools.pairwise(turns))
    assert a["transfers"] > 5 and a["completion_p50_ms"] > 20


def test_flows_have_their_class_at_each_of_two_switches(simulator, tmp_path):
    """Six flows over both, limited at the first; six over only the second."""
    file = FILES / "parking-lot.toml"
    argv = ["run", str(file), "--back-end", "ns3", "--out", str(tmp_path)]
    assert main([*argv, "--set", "phases.half.duration=10s"]) == 0
    (run_dir,) = store.find([tmp_path])
    rows = json.loads((run_dir / "run.json").read_text())["rows"]
    assert [(r["phase"], r["switch"]) for r in rows] == [
        (phase, switch) for phase in ("full", "half") for switch in ("first", "second")
    ]
    for r in rows:
        assert r["true_n_b"] == 6 and r["n_b"] == pytest.approx(6, abs=0.5), r["switch"]
        assert r["classes_wrong"] == "" and r["classes_right"] == (6 + r["true_rbp"])
        assert r["utilisation"] > 0.97
    assert [r["true_rbp"] for r in rows] == [0, 6, 0, 6]
    # Each packet at each hop: packets that leave the first arrive at the second.
    packets = pq.read_table(sorted((run_dir / "capture").glob("postcards-*")))
    flows = {}
    for node, dropped, flow in zip(
        *(packets[c].to_pylist() for c in ("node_id", "dropped", "flow_id")), strict=True
    ):
        at = flows.setdefault(flow, {10: [0, 0], 11: [0, 0]})
        at[node][0] += 1
        at[node][1] += dropped
    over_both = [at for at in flows.values() if at[10][0]]
    assert len(over_both) == 6 and len(flows) == 12
    # A few are in flight at the end.
    assert all(0 <= a[10][0] - a[10][1] - a[11][0] < 100 for a in over_both)


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


def test_datagrams_alone_leave_no_samples_of_windows(simulator, tmp_path):
    doc = document(phases__0__duration="4s")
    doc["traffic"] = {"datagrams": [DATAGRAMS]}
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(doc))
    assert main(["run", str(file), "--back-end", "ns3", "--out", str(tmp_path)]) == 0
    (run_dir,) = store.find([tmp_path])
    assert sorted((run_dir / "capture").glob("postcards-*"))
    assert json.loads((run_dir / "run.json").read_text())["rows"][0]["true_n_b"] == 0
