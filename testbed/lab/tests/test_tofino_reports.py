# SPDX-License-Identifier: Apache-2.0
"""The reports of a TCP transfer through Tofino's model (ptf-tests/fixtures), from the pcap to the
estimates of a node with the profile `tofino`, beside what was seen at both ends of the model."""

import json
import subprocess
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[3] / "ptf-tests" / "fixtures"
NODE, PORT = 20, 2
CAPACITY_BPS = 1_000_000
# Of Ethernet: header, frame check sequence, preamble, gap.
WIRE_OVERHEAD_BYTES = 38
# The model's clock runs 1.25 times as fast as the clock of the machine that it runs on.
CLOCK_RATE = 1.25

NODES = f"""
[nodes.{NODE}]
profile = "tofino"
[nodes.{NODE}.ports.{PORT}]
capacity_bps = {CAPACITY_BPS}
"""


@pytest.fixture
def capture(binary, tmp_path):
    nodes = tmp_path / "nodes.toml"
    nodes.write_text(NODES)
    argv = [binary("tidemark-collector"), "import", "--json", "--nodes", nodes]
    argv += ["--pcap", FIXTURES / "tofino-transfer.pcap.gz", "--out", tmp_path / "capture"]
    subprocess.run(argv, check=True, capture_output=True)
    return tmp_path / "capture"


@pytest.fixture
def truth():
    return json.loads((FIXTURES / "tofino-transfer.json").read_text())


@pytest.fixture
def links(binary, capture):
    argv = [binary("tidemark-controller"), "analyze", capture, "--json"]
    told = subprocess.run(argv, check=True, capture_output=True, text=True)
    return {link["port"]: link for link in json.loads(told.stdout)["links"]}


def name(key: dict) -> str:
    return f"{key['src']}:{key['src_port']} > {key['dst']}:{key['dst_port']}"


def wire_bytes(seen: dict) -> int:
    return seen["ip_bytes"] + seen["packets"] * WIRE_OVERHEAD_BYTES


def test_every_packet_is_reported(binary, capture, truth):
    argv = [binary("tidemark-collector"), "export", capture, "--jsonl", "--table", "postcards"]
    told = subprocess.run(argv, check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    entered = sum(flow["entered"]["packets"] for flow in truth["flows"].values())
    left = sum(flow["left"]["packets"] for flow in truth["flows"].values())
    assert len(rows) == entered
    dropped = [row for row in rows if row["dropped"]]
    assert len(dropped) == entered - left > 50
    assert {row["drop_reason"] for row in dropped} == {71}
    assert sorted(row["report_sequence"] for row in rows) == list(range(entered))
    assert {row["limit_bytes"] for row in rows if row["egress_port"] == PORT} == {1250 * 80}


def test_drops_rates_and_queue(links, truth):
    assert set(links) == {1, PORT}
    link = links[PORT]
    flows = {flow: seen for flow, seen in truth["flows"].items() if flow.startswith("10.0.0.1:")}
    entered = sum(seen["entered"]["packets"] for seen in flows.values())
    left = sum(seen["left"]["packets"] for seen in flows.values())
    assert (link["node"], link["queue"], link["limit_bytes"]) == (NODE, 0, 1250 * 80)
    assert (link["arrivals"], link["drops"]) == (entered, entered - left)
    assert link["loss_rate"] == pytest.approx((entered - left) / entered)
    assert link["reports_lost"] == 0
    seconds = (link["to_ns"] - link["from_ns"]) / 1e9
    assert seconds == pytest.approx(truth["seconds"] * CLOCK_RATE, rel=0.01)
    sent_bits = 8 * sum(wire_bytes(seen["left"]) for seen in flows.values())
    assert link["utilisation"] == pytest.approx(sent_bits / (CAPACITY_BPS * seconds))
    # The model has no line rate: packets wait for its computation, in no queue.
    assert link["occupancy_bytes"]["max"] == 0
    assert 5 < link["delay_ms"]["p50"] < 100


def test_flows(links, truth):
    link = links[PORT]
    seconds = (link["to_ns"] - link["from_ns"]) / 1e9
    flows = {name(flow["key"]): flow for flow in link["flows"]}
    assert set(flows) == {flow for flow in truth["flows"] if flow.startswith("10.0.0.1:")}
    for key, flow in flows.items():
        seen = truth["flows"][key]
        left = seen["left"]["packets"]
        assert (flow["packets"], flow["drops"]) == (left, seen["entered"]["packets"] - left)
        # Over the time that it was active: all but its pauses after losses.
        mean_bps = 8 * wire_bytes(seen["left"]) / seconds
        assert mean_bps <= flow["rate_bps"] < 1.2 * mean_bps
        # The senders paced themselves, far below the link.
        assert flow["class"] != "LBP"
    assert link["classes"]["lbp"] == 0
    estimates = link["estimates"]
    assert estimates["n_b"]["low"] == 0 == estimates["n_b"]["value"]
    assert estimates["n_b"]["high"] < 1
    assert estimates["regime"]["value"] == "transparent"


def test_acknowledgements_are_the_other_port(links, truth):
    back = {flow: seen for flow, seen in truth["flows"].items() if flow.startswith("10.0.0.2:")}
    link = links[1]
    entered = sum(seen["entered"]["packets"] for seen in back.values())
    left = sum(seen["left"]["packets"] for seen in back.values())
    assert (link["arrivals"], link["drops"]) == (entered, entered - left)
    assert {name(flow["key"]) for flow in link["flows"]} == set(back)
    # Neither a capacity nor a limit is known of it.
    assert link["capacity_bps"] in (None, 0)
    assert link["limit_bytes"] in (None, 0)
