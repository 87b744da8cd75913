# SPDX-License-Identifier: GPL-2.0-only
"""The Scapy layer of reports: golden vectors, coalesced and foreign reports, and the
fixture that the collector's codec also reads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap

from tidemark_ptf import report
from tidemark_ptf.report import CoalescedReport, TelemetryReport

PTF = Path(report.__file__).resolve().parent.parent
FIXTURES = PTF / "fixtures"

INNER = "450005dc 12344000 3f060ce6 0a000101 0a000202 9c401389 01020304 0a0b0c0d 50102000 00000000"
A = "14120660 5c000000 00000000 00010002 00000040 000000003b9aca00 000000003b9b9200"
B = "14100480 48010000 00000000 00010002 000000003b9bb460 00470000"
# A domain that is not Tidemark's.
C = "14130760 5c000001 80000000 00010002 00000040 000000003b9aca00 000000003b9b9200 00000064"


def unhex(text):
    return bytes.fromhex(text.replace(" ", ""))


def test_queue_report():
    data = unhex(f"20400005 0000000a {A} {INNER}")
    r = TelemetryReport(data)
    assert (r.version, r.hw_id, r.sequence, r.node_id) == (2, 1, 5, 10)
    assert (r.dropped, r.congested, r.tracked) == (0, 1, 1)
    assert (r.ingress_port, r.egress_port, r.queue_id, r.occupancy) == (1, 2, 0, 64)
    assert (r.ingress_ns, r.egress_ns) == (1_000_000_000, 1_000_051_200)
    assert r.limit is None and r.sampling_shift is None
    assert r.inner == unhex(INNER)
    assert r.inner_packet[TCP].dport == 5001
    r.clear_cache()
    assert bytes(r) == data


def test_drop_report():
    r = TelemetryReport(unhex(f"20400006 0000000a {B} {INNER}"))
    assert (r.dropped, r.drop_reason, r.drop_queue_id) == (1, report.TAIL_DROP, 0)
    assert r.occupancy is None and r.egress_ns is None


def test_coalesced_reports_and_an_unknown_domain():
    data = unhex(f"20400007 0000000a {C} {INNER} {B} {INNER}")
    first, second = report.reports(UDP() / TelemetryReport(data))
    assert (first.domain, first.unknown_metadata) == (1, unhex("00000064"))
    assert isinstance(second, CoalescedReport) and second.drop_reason == report.TAIL_DROP
    assert first.inner == second.inner == unhex(INNER)
    assert [report.as_dict(r)["sequence"] for r in (first, second)] == [7, 7]


def test_bytes_that_a_rounded_length_leaves_over():
    r = TelemetryReport(unhex(f"20400005 0000000a {A} {INNER} aabbcc"))
    assert r.inner == unhex(INNER + "aabbcc")


def test_length_to_the_end():
    data = bytearray(unhex(f"20400005 0000000a {A} {INNER}"))
    data[9] = report.TO_THE_END
    assert TelemetryReport(bytes(data)).inner == unhex(INNER)


def test_other_metadata_is_passed_over():
    # All bits but the last: hop latency, second ports, utilisation, buffer,
    # reserved.
    words = "00010002 0000001f 07000040 0000000000000001 0000000000000002"
    words += "0000000300000004 00000005 08000006" + "deadbeef" * 6
    count = len(unhex(words)) // 4
    head = f"14{2 + count + 10:02x}{count:02x}20 7ffe0000 00000000"
    r = TelemetryReport(unhex(f"20000001 0000000a {head} {words} {INNER}"))
    assert (r.hop_latency, r.queue_id, r.occupancy) == (0x1F, 7, 0x40)
    assert (r.ingress_ns, r.egress_ns, r.ingress_port2, r.egress_port2) == (1, 2, 3, 4)
    assert (r.utilisation, r.buffer_id, r.buffer_occupancy) == (5, 8, 6)
    assert r.reserved_metadata == unhex("deadbeef" * 6)
    assert r.inner == unhex(INNER)


@pytest.mark.parametrize(
    ("kind", "inner"),
    [
        (report.INNER_IPV4, IP(src="192.0.2.1", dst="192.0.2.2") / TCP(dport=80)),
        (report.INNER_IPV6, IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(dport=53)),
        (
            report.INNER_ETHERNET,
            Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(dst="192.0.2.1") / UDP(),
        ),
    ],
)
def test_lengths_are_computed(kind, inner):
    built = TelemetryReport(node_id=4, inner_type=kind, occupancy=99, inner_packet=inner)
    parsed = TelemetryReport(bytes(built))
    assert parsed.metadata_length_words == 8
    assert parsed.length_words == 2 + 8 + len(bytes(inner)) // 4
    assert (parsed.node_id, parsed.occupancy) == (4, 99)
    assert isinstance(parsed.inner_packet, type(inner))
    assert parsed.inner == bytes(inner)


@pytest.mark.parametrize("cut", range(0, 92, 3))
def test_a_cut_report_does_not_break_it(cut):
    """Scapy shows undecodable parts as raw bytes."""
    report.bind()
    frame = bytes(rdpcap(str(FIXTURES / "reports.pcap"))[0])[: 14 + 20 + 8 + cut]
    assert bytes(Ether(frame)) == frame
    Ether(frame).show(dump=True)


def test_fixture_is_read_as_recorded():
    """Also as used elsewhere: the file alone, without this package."""
    code = f"""
import sys
sys.path = [p for p in sys.path if "ptf-tests" not in p]
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("ptf", "grpc", "p4", "google", "tidemark_ptf"):
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
sys.path.insert(0, {str(PTF / "tidemark_ptf")!r})
sys.argv = ["report.py", {str(FIXTURES / "reports.pcap")!r}]
import report
sys.exit(report.main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    recorded = (FIXTURES / "reports.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        json.loads(line) for line in recorded
    ]


def test_usage():
    done = subprocess.run([sys.executable, report.__file__], capture_output=True, text=True)
    assert done.returncode == 2 and "usage" in done.stderr
