# SPDX-License-Identifier: Apache-2.0
"""Reports of TCP transfers through the models of Tofino 1 and 2 (ptf-tests/fixtures), from the pcap
to the estimates of a node with the chip's profile, checked against the packets at its ports."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[3] / "ptf-tests" / "fixtures"
NODE = 20
CAPACITY_BPS = 1_000_000
LIMIT_CELLS = 1250
# Ethernet's header, frame check sequence, preamble and gap.
WIRE_OVERHEAD_BYTES = 38
SENDER, RECEIVER = "10.0.0.1", "10.0.0.2"


@dataclass(frozen=True)
class Chip:
    profile: str
    cell_bytes: int
    sender_port: int
    port: int
    # The model of Tofino 1 counts cycles of 0.8 ns as ns.
    clock_rate: float
    loses: bool
    # The models count a packet as a cell.
    deepest_cells: int


CHIPS = [Chip("tofino", 80, 1, 2, 1.25, True, 0), Chip("tofino2", 176, 9, 10, 1.0, False, 36)]


@pytest.fixture(params=CHIPS, ids=lambda chip: chip.profile)
def chip(request):
    return request.param


@pytest.fixture
def capture(binary, tmp_path, chip):
    nodes = tmp_path / "nodes.toml"
    nodes.write_text(
        f'[nodes.{NODE}]\nprofile = "{chip.profile}"\n'
        f"[nodes.{NODE}.ports.{chip.port}]\ncapacity_bps = {CAPACITY_BPS}\n"
    )
    argv = [binary("tidemark-collector"), "import", "--json", "--nodes", nodes]
    argv += ["--pcap", FIXTURES / f"{chip.profile}-transfer.pcap.gz", "--out", tmp_path / "capture"]
    subprocess.run(argv, check=True, capture_output=True)
    return tmp_path / "capture"


@pytest.fixture
def truth(chip):
    return json.loads((FIXTURES / f"{chip.profile}-transfer.json").read_text())


@pytest.fixture
def links(binary, capture):
    argv = [binary("tidemark-controller"), "analyze", capture, "--json"]
    told = subprocess.run(argv, check=True, capture_output=True, text=True)
    return {link["port"]: link for link in json.loads(told.stdout)["links"]}


def flows_from(truth: dict, host: str) -> dict[str, dict]:
    return {name: flow for name, flow in truth["flows"].items() if name.startswith(f"{host}:")}


def packets(flows: dict[str, dict], side: str) -> int:
    return sum(flow[side]["packets"] for flow in flows.values())


def arrivals_and_drops(flows: dict[str, dict]) -> tuple[int, int]:
    entered = packets(flows, "entered")
    return entered, entered - packets(flows, "left")


def name_of(key: dict) -> str:
    return f"{key['src']}:{key['src_port']} > {key['dst']}:{key['dst_port']}"


def bits_sent(flow: dict) -> int:
    left = flow["left"]
    return 8 * (left["ip_bytes"] + left["packets"] * WIRE_OVERHEAD_BYTES)


def length_s(link: dict) -> float:
    return (link["to_ns"] - link["from_ns"]) / 1e9


def test_every_packet_is_reported(binary, capture, truth, chip):
    argv = [binary("tidemark-collector"), "export", capture, "--jsonl", "--table", "postcards"]
    told = subprocess.run(argv, check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    entered, lost = arrivals_and_drops(truth["flows"])
    assert len(rows) == entered > 700
    assert sorted(row["report_sequence"] for row in rows) == list(range(entered))
    assert (lost > 50) == chip.loses
    reasons = [row["drop_reason"] for row in rows if row["dropped"]]
    assert reasons == [71] * lost
    limits = {row["limit_bytes"] for row in rows if row["egress_port"] == chip.port}
    assert limits == {LIMIT_CELLS * chip.cell_bytes}


def test_drops_rates_and_queue(links, truth, chip):
    assert set(links) == {chip.sender_port, chip.port}
    link = links[chip.port]
    flows = flows_from(truth, SENDER)
    arrivals, drops = arrivals_and_drops(flows)
    limit_bytes = LIMIT_CELLS * chip.cell_bytes
    assert (link["node"], link["queue"], link["limit_bytes"]) == (NODE, 0, limit_bytes)
    assert (link["arrivals"], link["drops"]) == (arrivals, drops)
    assert link["loss_rate"] == pytest.approx(drops / arrivals)
    assert link["reports_lost"] == 0
    assert length_s(link) == pytest.approx(truth["seconds"] * chip.clock_rate, rel=0.01)
    sent_bits = sum(bits_sent(flow) for flow in flows.values())
    assert link["utilisation"] == pytest.approx(sent_bits / (CAPACITY_BPS * length_s(link)))
    assert link["occupancy_bytes"]["max"] == chip.deepest_cells * chip.cell_bytes
    assert 5 < link["delay_ms"]["p50"] < 100


def test_flows(links, truth, chip):
    link = links[chip.port]
    flows = {name_of(flow["key"]): flow for flow in link["flows"]}
    sent = flows_from(truth, SENDER)
    assert set(flows) == set(sent)
    for name, flow in flows.items():
        arrivals, drops = arrivals_and_drops({name: sent[name]})
        assert (flow["packets"], flow["drops"]) == (arrivals - drops, drops)
        # Only the time in which it was active, without its pauses after losses.
        mean_bps = bits_sent(sent[name]) / length_s(link)
        assert mean_bps <= flow["rate_bps"] < 1.2 * mean_bps
        # The senders paced themselves far below the link's rate.
        assert flow["class"] != "LBP"
    assert link["classes"]["lbp"] == 0
    estimates = link["estimates"]
    assert (estimates["n_b"]["low"], estimates["n_b"]["value"]) == (0, 0)
    assert estimates["regime"]["value"] == "transparent"


def test_acknowledgements_are_the_other_port(links, truth, chip):
    link = links[chip.sender_port]
    flows = flows_from(truth, RECEIVER)
    assert (link["arrivals"], link["drops"]) == arrivals_and_drops(flows)
    assert {name_of(flow["key"]) for flow in link["flows"]} == set(flows)
    # Neither capacity nor limit of the link is known.
    assert link["capacity_bps"] in (None, 0)
    assert link["limit_bytes"] in (None, 0)
