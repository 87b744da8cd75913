# SPDX-License-Identifier: Apache-2.0
"""The simulated bottleneck behaves like a queue, and TCP as its theory says.

Tests need ns-3 and are skipped without it: `make test-ns3`.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest
from ns3_network import Network, scenario_text

from tidemark_lab.errors import LabError
from tidemark_lab.experiment import ns3
from tidemark_lab.json_types import JsonObject

pytestmark = pytest.mark.usefixtures("simulator")
CAPACITY_BPS = 20e6
MARKED = 1


@pytest.fixture(scope="module")
def simulator() -> None:
    try:
        ns3.program()
    except ns3.Ns3Missing as error:
        pytest.skip(f"NOT CHECKED, the simulated bottleneck: {error}")


@dataclass
class Report:
    """One packet's report in the pcap."""

    sequence: int
    dropped: bool
    depth: int
    arrival_ns: int
    departure_ns: int
    limit: int
    marked: bool
    reason: int
    ip: bytes

    @property
    def ip_bytes(self) -> int:
        return struct.unpack_from(">H", self.ip, 2)[0]

    @property
    def own_time_ns(self) -> float:
        # PPP adds two bytes, and the rate is higher accordingly.
        return (self.ip_bytes + 2) * 8e9 / (CAPACITY_BPS * 1502 / 1500)


def reports(path: Path) -> list[Report]:
    data = path.read_bytes()
    assert struct.unpack_from("<I", data)[0] == 0xA1B23C4D
    at, out = 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        payload = data[at + 16 + 42 : at + 16 + length]
        at += 16 + length
        head, node, main, bits, _, _, depth, arrival = struct.unpack_from(">IIIIIIIQ", payload)
        assert head >> 28 == 2 and node == 10 and bits & 0xFFFF == 0x544D
        dropped = bool(main & 0x80)
        assert head >> 22 & 0x3F == dropped and len(payload) == (88 if dropped else 92)
        words = payload[36:]
        departure = 0 if dropped else struct.unpack_from(">Q", words)[0]
        reason = words[1] if dropped else 0
        rest = words[4:] if dropped else words[8:]
        limit, policy = struct.unpack_from(">II", rest)
        marked = bool(policy >> 16 & MARKED)
        out.append(
            Report(
                head & 0x3FFFFF,
                dropped,
                depth,
                arrival,
                departure,
                limit,
                marked,
                reason,
                rest[8:],
            )
        )
    return out


def simulated(tmp_path: Path, scenario: str) -> tuple[JsonObject, list[Report]]:
    ns3.simulate(scenario, tmp_path)
    return json.loads((tmp_path / "truth.json").read_text()), reports(tmp_path / "reports.pcap")


def one_flow(cc: str, limit_packets: int, capacity_bps: float) -> str:
    network = Network(capacity_bps=capacity_bps, rtts_s=(0.02,), lbp={cc: 1})
    return scenario_text(network, limit_packets, 40, 10, 1)


MIX = Network(
    capacity_bps=CAPACITY_BPS,
    rtts_s=(0.01, 0.03),
    lbp={"LinuxReno": 3, "Cubic": 3},
    rbp=2,
    rbp_bps=500e3,
    wl=2,
    short_share=0.05,
    udp_share=0.2,
)


def test_the_queue_is_a_drop_tail_queue(tmp_path: Path):
    limit = 25
    truth, rows = simulated(tmp_path, scenario_text(MIX, limit, 8, 2, 3))
    left = [r for r in rows if not r.dropped]
    lost = [r for r in rows if r.dropped]
    assert len(left) > 10_000 and len(lost) > 50
    for kind in (left, lost):
        assert [r.sequence for r in kind] == list(range(len(kind)))
    # A drop if and only if the queue is full.
    assert all(r.depth == limit and r.reason == 71 for r in lost)
    assert all(r.depth < limit and r.limit == limit for r in left)
    # FIFO: each packet starts when it arrives or when the previous one is done.
    free_ns = 0.0
    for before, r in zip([None, *left], left, strict=False):
        assert before is None or before.arrival_ns <= r.arrival_ns
        assert r.departure_ns == pytest.approx(max(r.arrival_ns, free_ns), abs=2)
        free_ns = r.departure_ns + r.own_time_ns
    # The reported depth equals what the other rows leave in the queue.
    gone = 0
    for i, r in enumerate(left):
        while left[gone].departure_ns < r.arrival_ns:
            gone += 1
        # A packet that leaves in the same nanosecond may count or not.
        least = next(k for k in range(gone, i + 1) if left[k].departure_ns > r.arrival_ns or k == i)
        assert i - least <= r.depth <= i - gone
    assert truth["arrivals_all"] == len(rows) and truth["drops_all"] == len(lost)
    assert truth["utilisation"] > 0.95


def test_one_reno_flow_uses_what_theory_says(tmp_path: Path):
    # A flow of few packets stays below the theory, whose windows are real numbers.
    capacity_bps = 50e6
    bdp = capacity_bps * 0.02 / 12_000
    for part in (0.25, 0.5, 1.0):
        x = round(part * bdp) / bdp
        expected = min(1.0, 0.75 * (1 + x) ** 2 / (1 + x + x * x))
        scenario = one_flow("NewReno", round(part * bdp), capacity_bps)
        truth, _ = simulated(tmp_path / str(part), scenario)
        assert expected - 0.025 < truth["utilisation"] < expected + 0.01, part


def test_cubic_multiplies_its_window_by_seven_tenths(tmp_path: Path):
    """With ns-3 3.44's own recovery, a small buffer leaves the link idle."""
    truth, _ = simulated(tmp_path, one_flow("Cubic", 21, 50e6))
    assert truth["utilisation"] > 0.94


def test_a_flow_begins_with_as_many_packets_as_it_is_told(tmp_path: Path):
    network = Network(capacity_bps=50e6, rtts_s=(0.02,), lbp={"LinuxReno": 1})
    scenario = scenario_text(network, 200, 4, 1, 1)
    assert scenario.rstrip().splitlines()[-1].startswith("tcp id=0")
    for first, opens in ((10, ""), (2, "opens id=0 packets=2\n")):
        _, seen = simulated(tmp_path / str(first), scenario + opens)
        data = [r for r in seen if r.ip_bytes > 1000]
        # Until the first acknowledgement can arrive.
        assert sum(r.arrival_ns < data[0].arrival_ns + 19e6 for r in data) == first


def test_timeouts_go_by_the_limit_in_force(tmp_path: Path):
    """A large limit at the start causes no long timeouts: losses at a small one cost as usual."""
    network = Network(capacity_bps=5e6, rtts_s=(0.02,), lbp={"LinuxReno": 16})
    plain = scenario_text(network, 3, 40, 12, 1)
    assert "limit_packets=3 mark_packets=0\n" in plain
    change = "change at_s=4 limit_packets=3 mark_packets=0\n"
    first, rest = plain.split("\n", 1)
    before = first.replace("limit_packets=3", "limit_packets=400")
    steady, _ = simulated(tmp_path / "steady", plain)
    changed, _ = simulated(tmp_path / "changed", f"{before}\n{change}{rest}")
    assert changed["utilisation"] == pytest.approx(steady["utilisation"], abs=0.02)
    assert changed["loss_rate"] == pytest.approx(steady["loss_rate"], rel=0.12)


def silences_s(rows: list[Report]) -> list[float]:
    """Gaps between the packets of each flow."""
    last: dict[bytes, int] = {}
    found = []
    for r in rows:
        port = r.ip[22:24]
        found.append((r.arrival_ns - last.get(port, r.arrival_ns)) / 1e9)
        last[port] = r.arrival_ns
    return found


def test_no_sender_retransmits_sooner_than_the_scenario_says(tmp_path: Path):
    """Sixteen flows through a queue of three packets depend on their timers."""
    network = Network(capacity_bps=5e6, rtts_s=(0.02,), lbp={"LinuxReno": 16})
    plain = scenario_text(network, 3, 20, 5, 1)
    later = plain.replace("tcp id=0 ", "rto least_s=1\ntcp id=0 ", 1)
    silent = {}
    for name, scenario in (("plain", plain), ("later", later)):
        found = silences_s(simulated(tmp_path / name, scenario)[1])
        silent[name] = [sum(0.1 < s < 0.4 for s in found), sum(0.9 < s < 1.1 for s in found)]
    # A packet sent while the timer runs makes the silence shorter than the timer.
    short, long = zip(silent["plain"], silent["later"], strict=True)
    assert short[0] > 100 and short[1] < 0.1 * short[0]
    assert long[1] > 50 and long[1] > 3 * long[0]


def test_marks_above_the_threshold_and_refuses_what_cannot_be_marked(tmp_path: Path):
    threshold = 15
    network = Network(
        capacity_bps=CAPACITY_BPS, rtts_s=(0.02,), lbp={"LinuxReno": 4}, ecn=True, short_share=0.05
    )
    truth, rows = simulated(tmp_path, scenario_text(network, threshold, 8, 2, 1))
    marked = [r for r in rows if r.marked]
    assert len(marked) > 50 and truth["ce_marks_all"] == len(marked)
    for r in rows:
        capable = r.ip[1] & 3
        assert r.limit == threshold
        assert r.marked == (not r.dropped and r.depth >= threshold)
        assert (capable == 3) == r.marked, "marked in the header as in the report"
        assert r.dropped == (r.depth >= threshold and not capable)
        assert r.reason == (73 if r.dropped else 0)
    # SYNs and retransmissions are not ECN-capable.
    assert any(r.dropped for r in rows)


def test_a_run_is_what_its_scenario_makes_it(tmp_path: Path):
    scenario = scenario_text(MIX, 25, 4, 1, 3)
    files = ("reports.pcap", "tcp_probe.txt", "truth.json")
    for name in ("one", "two"):
        ns3.simulate(scenario, tmp_path / name)
    for name in files:
        first, second = ((tmp_path / run / name).read_bytes() for run in ("one", "two"))
        assert first == second, name
    other = scenario_text(MIX, 25, 4, 1, 4)
    ns3.simulate(other, tmp_path / "three")
    assert (tmp_path / "three" / files[0]).read_bytes() != (
        tmp_path / "one" / files[0]
    ).read_bytes()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("limit_packets=25", "limit_packets=-1", "line 1"),
        ("mark_packets=0", "mark=0", "mark"),
        ("run seconds=4", "walk seconds=4", "no record"),
        ("cc=Cubic", "cc=Cube", "Cube"),
        ("link capacity_bps=20000000", "link capacity_bps=0", "capacity"),
        ("tcp id=0", "opens id=0 packets=2\ntcp id=0", "needs a flow"),
        ("link ", "change at_s=1 limit_packets=9 mark_packets=0\nlink ", "none"),
    ],
)
def test_a_scenario_that_makes_no_sense_is_refused(
    tmp_path: Path, before: str, after: str, said: str
):
    scenario = scenario_text(MIX, 25, 4, 1, 3)
    assert before in scenario
    with pytest.raises(LabError, match=said):
        ns3.simulate(scenario.replace(before, after), tmp_path)


def test_a_simulation_without_an_end_is_ended_by_its_cpu_time(tmp_path: Path):
    scenario = scenario_text(MIX, 25, 100_000, 1, 3)
    with pytest.raises(LabError, match="1 s of CPU time"):
        ns3.simulate(scenario, tmp_path, most_cpu_s=0.5)


# Three datagram flows: one sends a tenth of the link's rate, two send more than the rest.
FAIR = """link capacity_bps=20000000 limit_packets=40 mark_packets=0
{fair}run seconds=12 warmup_s=2 seed=5 jitter_packets=1
udp id=0 kind=low rtt_s=0.02 start_s=0 stop_s=0 rate_bps=2e6 ip_bytes=1500
udp id=1 kind=high rtt_s=0.02 start_s=0 stop_s=0 rate_bps=12e6 ip_bytes=1500
udp id=2 kind=higher rtt_s=0.02 start_s=0 stop_s=0 rate_bps=24e6 ip_bytes=500
"""


def test_fair_queueing_gives_bytes_in_turn_and_drops_from_the_longest(tmp_path):
    kinds = {}
    for name, fair in (("fifo", ""), ("fair", "fair quantum_bytes=1502\n")):
        truth, seen = simulated(tmp_path / name, FAIR.format(fair=fair))
        kinds[name] = truth["kinds"]
        # Fair queueing conserves work, and only a full queue drops packets.
        assert truth["utilisation"] > 0.99
        assert max(r.depth for r in seen) <= 40
        # Every packet that arrived either left or was dropped, once.
        assert len(seen) == truth["arrivals_all"]
    assert kinds["fifo"]["low"]["loss_rate"] > 0.2
    assert kinds["fair"]["low"]["drops"] == 0
    high, higher = kinds["fair"]["high"], kinds["fair"]["higher"]
    assert high["throughput_bps"] == pytest.approx(higher["throughput_bps"], rel=0.03)
    assert high["throughput_bps"] == pytest.approx(9e6, rel=0.03)
