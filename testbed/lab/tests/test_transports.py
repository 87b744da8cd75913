# SPDX-License-Identifier: Apache-2.0
"""QUIC and other MTUs, from the experiment's file to the packets at the switch."""

import json

import pyarrow.compute as pc
import pytest
from controls_lab import packets, run
from experiment_files import REMOTE, document

from tidemark_lab.experiment import load
from tidemark_lab.experiment.embedded import configs
from tidemark_lab.experiment.embedded.layout import Layout
from tidemark_lab.experiment.load import ExperimentError
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.remote.configs import Machines

QUIC = {"name": "quic", "count": 2, "hosts": "near", "transport": "quic"}
PHASES = [{"name": "one", "limit": "1bdp", "settle": "2s", "duration": "8s"}]


def layout_of(doc):
    return Layout(Plan.of(load.check(doc, "x"), 1), "0000")


def with_quic(**changes):
    doc = document(**changes)
    doc["traffic"]["persistent"].append(dict(QUIC))
    return doc


def test_quic_flows_have_a_listener_and_are_watched():
    spec = configs.traffic(layout_of(with_quic()))
    (listener,) = [one for one in spec["listeners"] if one["name"] == "quic"]
    assert listener["transport"] == "quic"
    flows = [f for f in spec["flows"] if f.get("transport") == "quic"]
    assert [f["name"] for f in flows] == ["quic-1", "quic-2"]
    assert all(listener["address"] == f["destination"] for f in flows)
    assert all("transport" not in f for f in spec["flows"] if f not in flows)
    assert "quic" not in {
        one["name"] for one in configs.traffic(layout_of(document()))["listeners"]
    }


def test_dctcp_is_heard_by_a_receiver_that_takes_part():
    doc = document(traffic__persistent__0__congestion_control=["dctcp", "reno"])
    spec = configs.traffic(layout_of(doc), {"dctcp": "tm_dctcp", "reno": "reno"})
    (listener,) = [one for one in spec["listeners"] if one["name"] == "dctcp"]
    assert listener["congestion_control"] == "tm_dctcp"
    to = {f["congestion_control"]: f["destination"] for f in spec["flows"]}
    assert to["tm_dctcp"] == listener["address"] != to["reno"]


def test_remote_receivers_are_told_of_both():
    doc = with_quic(remote=REMOTE, traffic__persistent__0__congestion_control="dctcp")
    plan = Plan.of(load.check(doc, "x"), 1)
    machines = Machines(plan, plan.experiment.remote)
    said = machines.listening()
    assert "10.0.0.250:5004,control=dctcp" in said and "10.0.0.250:5005,quic" in said
    sent = [f["transport"] for h in plan.hosts for f in machines.traffic(h)["flows"][2:]]
    assert sent == ["quic", "quic"]
    assert all(plan.congestion_controls("tcp", h) == {"dctcp"} for h in plan.hosts)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"congestion_control": "reno"}, "QUIC has no reno here"),
        ({"window": "8192B"}, "receive buffer of TCP"),
        ({"ecn": True}, "asks for ECN in any case"),
        ({"initial_window": 4}, "has its own"),
    ],
)
def test_what_quic_has_not_is_refused(changes, said):
    doc = with_quic()
    doc["traffic"]["persistent"][-1] |= changes
    with pytest.raises(ExperimentError, match=said):
        load.check(doc, "x")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"topology__mtu": 500}, "576"),
        ({"topology__mtu": 9001}, "9000"),
        ({"topology__mtu": 1200}, "QUIC needs an mtu of 1228"),
        ({"topology__hosts__0__mtu": 3000}, "above the topology's"),
    ],
)
def test_an_mtu_that_no_link_has_is_refused(changes, said):
    with pytest.raises(ExperimentError, match=said):
        load.check(with_quic(**changes), "x")


def test_a_slow_link_must_hold_a_packet():
    doc = document(topology__mtu=9000)
    doc["traffic"]["persistent"].append(
        {"name": "slow", "count": 1, "hosts": "near", "remote": {"rate": "1mbit"}}
    )
    with pytest.raises(ExperimentError, match="no room for a packet of 9000"):
        load.check(doc, "x")


def test_packets_of_a_limit_are_of_the_mtu():
    doc = document(topology__mtu=9000, phases__0__limit="3packets")
    plan = Plan.of(load.check(doc, "x"), 1)
    (limits,) = plan.limits_in(plan.experiment.phases[0], plan.first_limits())
    assert limits.limit_bytes == 3 * 9014
    assert plan.most_limit_bytes == plan.queue_packets * 9014 // 2


@pytest.mark.root
@pytest.mark.parametrize("offloads", [True, False])
def test_quic_with_tcp_is_whole_packets_and_its_goodput_is_known(offloads, tmp_path, binary):
    binary("tidemark-traffic")
    doc = with_quic(
        topology__switches__0__rate="10mbit",
        topology__offloads=offloads,
        run__warmup="3s",
        traffic__persistent__0__count=2,
        phases=PHASES,
    )
    run_dir, record = run(doc, tmp_path)
    (row,) = record["rows"]
    assert row["true_n_b"] == 4 and row["reports_lost"] == 0 and row["utilisation"] > 0.9
    truth = json.loads((run_dir / "truth.json").read_text())
    flows = {f["name"]: f for f in truth["flows"]}
    quic = [flows["quic-1"], flows["quic-2"]]
    assert len({f["source"] for f in quic}) == 2 and {f["protocol"] for f in quic} == {17}
    assert all(f["error"] is None and f["congestion_control"] == "cubic" for f in quic)
    assert all(f["quic"]["min_rtt_us"] >= 1e3 * f["base_rtt_ms"] for f in quic)
    delivered = sum(f["quic"]["bytes_delivered"] for f in quic)
    assert delivered == truth["listeners"]["quic"]["bytes_received"] > 1e6
    # At most what the link carries, and most of it.
    acked = delivered + sum(f["tcp"]["bytes_acked"] for f in flows.values() if "tcp" in f)
    seconds = (truth["stopped"]["mono_raw_ns"] - truth["started"]["mono_raw_ns"]) / 1e9
    assert 0.6 < acked / (10e6 / 8 * seconds) < 1.0
    seen = packets(run_dir, "ip_bytes")["ip_bytes"]
    assert pc.max(seen).as_py() == 1500
    assert pc.mean(pc.equal(seen, 1500)).as_py() > 0.95
    at_switch = json.loads((run_dir / "links" / "one-s1.json").read_text())["flows"]
    ports = {int(f["source"].rsplit(":", 1)[1]) for f in quic}
    assert ports <= {f["key"]["src_port"] for f in at_switch if f["key"]["protocol"] == 17}


@pytest.mark.root
def test_jumbo_frames_and_a_group_of_hosts_with_smaller_ones(tmp_path, binary):
    binary("tidemark-traffic")
    doc = with_quic(
        topology__switches__0__rate="30mbit",
        topology__mtu=9000,
        topology__hosts=[
            {"name": "near", "rtts": ["20ms"]},
            {"name": "small", "rtts": ["20ms"], "mtu": 576},
        ],
        run__warmup="3s",
        traffic__persistent__0__count=2,
        phases=PHASES,
    )
    doc["traffic"]["persistent"].append({"name": "old", "count": 1, "hosts": "small"})
    run_dir, record = run(doc, tmp_path)
    (row,) = record["rows"]
    assert row["true_n_b"] == 5 and row["utilisation"] > 0.9
    assert row["occupancy_max_bytes"] <= row["limit_bytes"] + 9014
    truth = json.loads((run_dir / "truth.json").read_text())
    sizes = {f["name"]: f["quic"]["datagram_bytes"] for f in truth["flows"] if "quic" in f}
    assert sizes == {"quic-1": 8972, "quic-2": 8972}
    mss = {f["name"]: f["tcp"]["mss_bytes"] for f in truth["flows"] if "tcp" in f}
    assert mss["long-1"] == mss["long-2"] == 9000 - 52 and mss["old-1"] == 576 - 52
    table = packets(run_dir, "ip_bytes", "ingress_port")
    largest = {
        port: pc.max(table.filter(pc.equal(table["ingress_port"], port))["ip_bytes"]).as_py()
        for port in (1, 2)
    }
    assert largest == {1: 9000, 2: 576}
