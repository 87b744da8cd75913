# SPDX-License-Identifier: Apache-2.0
"""The INT-MD experiment on real TCP, from its file to the estimates of each hop. Needs root."""

import json

import pyarrow.parquet as pq
import pytest

from tidemark_lab.__main__ import main
from tidemark_lab.experiment import store

pytestmark = pytest.mark.root

NODES = (10, 11, 12)
QUEUE_PACKETS = 66
PACKET_BYTES = 1500


def test_from_packets_to_the_estimates_of_each_hop(tmp_path, binary):
    binary("tidemark-traffic")
    argv = ["run", "int-md", "--out", str(tmp_path), "--set", "phases.full.duration=20s"]
    argv += ["--console-port", "18080", "--switch-port", "19559"]
    argv += ["--collector-port", "19660", "--metrics-port", "19661"]
    assert main(argv) == 0
    (run_dir,) = store.find([tmp_path])
    source, transit, sink = json.loads((run_dir / "run.json").read_text())["rows"]

    # The six flows only queue at the second switch.
    assert transit["true_n_b"] == 6 and transit["n_b_low"] <= 6 <= transit["n_b_high"]
    assert transit["t_e_ms_low"] <= transit["true_t_e_ms"] <= transit["t_e_ms_high"]
    assert transit["utilisation"] > 0.95
    assert transit["reports_lost"] == 0
    for row in (source, sink):
        assert row["n_b"] == 0 and 0.15 < row["utilisation"] < 0.25
        assert row["delay_p99_ms"] < transit["delay_p50_ms"]

    # Truth: the switches' own counters. Each packet that left the second switch has a record per
    # hop, except for those in flight at the end.
    ports = {
        k: {p["port"]: p for p in json.loads((run_dir / f"switch-{k}-ports.json").read_text())}
        for k in (1, 2, 3)
    }
    columns = ["node_id", "egress_port", "occupancy_bytes", "ingress_ns", "egress_ns"]
    rows = pq.read_table(sorted((run_dir / "capture").glob("postcards-*.parquet")), columns=columns)
    hops = {n: [r for r in rows.to_pylist() if r["node_id"] == n] for n in NODES}
    counts = [len(found) for found in hops.values()]
    assert len(set(counts)) == 1 and counts[0] > 20_000
    sent = ports[2][2]["tx_packets"]
    assert abs(counts[0] - sent) < 200
    assert ports[2][2]["tail_dropped_packets"] > 0
    assert ports[1][4]["tail_dropped_packets"] == ports[3][2]["tail_dropped_packets"] == 0
    most = max(r["occupancy_bytes"] for r in hops[11])
    assert QUEUE_PACKETS // 2 * PACKET_BYTES < most <= QUEUE_PACKETS * PACKET_BYTES
    # A full queue drains at 20 Mb/s, packets with their stack, one in service.
    longest_ms = max(r["egress_ns"] - r["ingress_ns"] for r in hops[11]) / 1e6
    frame_bytes = 1514 + 16 + 32 + 24
    assert longest_ms <= (QUEUE_PACKETS + 1) * 8e-3 * frame_bytes / 20 + 1
