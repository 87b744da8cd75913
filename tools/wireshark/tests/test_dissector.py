# SPDX-License-Identifier: GPL-2.0-only
"""The Wireshark dissector reads every field as the Scapy layer does. Runs if tshark is
installed (Debian package tshark)."""

import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "ptf-tests"))
from scapy.layers.inet import IP, TCP, UDP  # noqa: E402
from scapy.layers.l2 import Dot1Q, Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402
from scapy.utils import PcapReader, wrpcap  # noqa: E402
from tidemark_ptf import report  # noqa: E402

SCRIPT = REPOSITORY / "tools" / "wireshark" / "tidemark_report.lua"
FIXTURE = REPOSITORY / "ptf-tests" / "fixtures" / "reports.pcap"


def labelled_fields() -> list[str]:
    """Returns labelled fields of the table, which Wireshark shows, by their Scapy names."""
    table = tomllib.loads((REPOSITORY / "contract" / "report.toml").read_text())
    parts = [table["group"], table["main"], *table["metadata"], *table["domain"]]
    return [f["name"] for part in parts for f in part["fields"] if "label" in f]


FIELDS = [name for name in labelled_fields() if name != "tag"]  # `tag` is bytes
INNER = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport", "tcp.seq_raw"]
FLOW = [
    f"tidemark.inner.{f}" for f in ("src", "dst", "src6", "dst6", "src_port", "dst_port", "seq")
]
# Real TCP: its options, e.g. timestamps, are longer than the head in a report.
REAL = REPOSITORY / "collector" / "daemon" / "fixtures" / "import" / "reports.pcap.gz"
DISSECTED = ("-o", "tidemark.inner:TRUE")


@pytest.fixture(scope="module")
def tshark():
    found = shutil.which("tshark")
    if found is None:
        message = "SKIPPED: tshark is not on PATH: the Wireshark dissector is NOT tested"
        print(f"\n{message}\n", file=sys.__stderr__)
        warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    return found


def dissect(tshark, pcap, *options) -> list[dict]:
    """Returns for each packet the values of each field (there may be several)."""
    names = [f"tidemark.{f}" for f in FIELDS]
    names += ["tidemark.inner", "tidemark.unknown_metadata", "tidemark.ce_marked", "tidemark.tag"]
    names += ["tidemark.malformed", "tidemark.version.unknown", "tidemark.residence_ns"]
    names += ["_ws.col.Info", "_ws.col.Source", "_ws.lua.error", *INNER, *FLOW]
    command = [tshark, "-n", "-X", f"lua_script:{SCRIPT}", "-r", str(pcap), "-T", "json"]
    for name in names:
        command += ["-e", name]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    assert "Lua" not in done.stderr, done.stderr
    packets = [p["_source"]["layers"] for p in json.loads(done.stdout)]
    assert not any("_ws.lua.error" in p for p in packets)
    return packets


def number(text: str) -> int:
    if text in ("True", "False"):
        return int(text == "True")
    return int(text, 0)


def reports_of(pcap) -> list[list]:
    report.bind()
    with PcapReader(str(pcap)) as packets:
        return [list(report.reports(p)) for p in packets]


def compare(packets, expected):
    assert len(packets) == len(expected)
    for i, (layers, reports) in enumerate(zip(packets, expected, strict=True)):
        dicts = [report.as_dict(r) for r in reports]
        for field in FIELDS:
            once = field in ("version", "hw_id", "sequence", "node_id")
            theirs = [d[field] for d in (dicts[:1] if once else dicts) if field in d]
            ours = [number(v) for v in layers.get(f"tidemark.{field}", [])]
            assert ours == theirs, f"packet {i + 1}: {field}"
        inner = [bytes.fromhex(v.replace(":", "")) for v in layers.get("tidemark.inner", [])]
        assert inner == [r.inner for r in reports if r.inner], f"packet {i + 1}: inner packet"


def rows(tshark, pcap, *options) -> list[str]:
    """Returns the packet list."""
    command = [tshark, "-n", "-X", f"lua_script:{SCRIPT}", "-r", str(pcap), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def flow_words(inner: dict) -> str:
    """Formats the flow of an inner packet like the summary."""
    bracket = "[{}]" if ":" in inner["src"] else "{}"
    ends = [bracket.format(inner[side]) for side in ("src", "dst")]
    if "sport" in inner:
        ends = [f"{e}:{inner[p]}" for e, p in zip(ends, ("sport", "dport"), strict=True)]
    return " > ".join(ends) + (f" seq {inner['seq']}" if "seq" in inner else "")


@pytest.mark.parametrize("options", [(), DISSECTED])
def test_every_row_of_real_traffic_is_our_summary(tshark, options):
    """Also if the truncated inner packet goes through Wireshark's dissectors."""
    found = rows(tshark, REAL, *options)
    expected = reports_of(REAL)
    assert len(found) == len(expected) == 2520
    for row, (r,) in zip(found, expected, strict=True):
        summary = f"Node {r.node_id}/{r.hw_id} #{r.sequence}, "
        if not r.dropped:
            summary += f"port {r.ingress_port} > {r.egress_port}, occupancy {r.occupancy}, "
            summary += flow_words(report.inner_fields(r.inner_packet))
        assert " Tidemark " in row and row.endswith(summary if not r.dropped else ""), row
        assert summary in row and ("DROPPED" in row) == bool(r.dropped), row


def test_no_report_of_real_traffic_is_called_malformed(tshark):
    assert not any("Malformed" in row for row in rows(tshark, REAL))
    # Colours and filters use expert information.
    assert not rows(tshark, REAL, "-Y", "_ws.expert || _ws.malformed || _ws.short")


def test_reports_of_the_switch(tshark):
    packets = dissect(tshark, FIXTURE, *DISSECTED)
    expected = reports_of(FIXTURE)
    assert len(packets) > 50
    compare(packets, expected)
    marked = 0
    for i, (layers, (r,)) in enumerate(zip(packets, expected, strict=True)):
        assert "tidemark.malformed" not in layers, f"packet {i + 1}"
        # The inner packet, by Wireshark's own dissectors; everything outside is the report's.
        assert layers["_ws.col.Source"] == ["10.0.0.254"]
        assert layers["_ws.col.Info"][0].startswith(f"Node {r.node_id}/{r.hw_id} #{r.sequence}")
        assert ("DROPPED" in layers["_ws.col.Info"][0]) == bool(r.dropped)
        shown = report.inner_fields(r.inner_packet)
        assert layers["_ws.col.Info"][0].endswith(flow_words(shown)), f"packet {i + 1}"
        family = "ip" if isinstance(r.inner_packet, IP) else "ipv6"
        # (The last one: Wireshark also names the final hop of a routing header.)
        assert shown["src"] in layers[f"{family}.src"]
        assert shown["dst"] in layers[f"{family}.dst"]
        own = {"src_port": "sport", "dst_port": "dport", "seq": "seq"}
        own |= {"src": "src", "dst": "dst"} if family == "ip" else {"src6": "src", "dst6": "dst"}
        for name in FLOW:
            value = shown.get(own.get(name.removeprefix("tidemark.inner.")))
            assert layers.get(name) == (None if value is None else [str(value)]), name
        if "seq" in shown:
            assert layers["tcp.srcport"] == [str(shown["sport"])], f"packet {i + 1}"
            assert layers["tcp.dstport"] == [str(shown["dport"])]
            assert layers["tcp.seq_raw"] == [str(shown["seq"])]
        else:
            assert "tcp.srcport" not in layers
        if not r.dropped:
            assert layers["tidemark.residence_ns"] == [str(r.egress_ns - r.ingress_ns)]
        marked += number(layers["tidemark.ce_marked"][0])
    assert marked == sum(r.policy_flags & report.FLAG_CE_MARKED for (r,) in expected) > 0


MACS = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}


def frame(payload: bytes, port=report.DEFAULT_PORT):
    ip = IP(src="192.0.2.1", dst="192.0.2.2")
    return Ether(bytes(Ether(**MACS) / ip / UDP(sport=50000, dport=port) / Raw(payload)))


def built(**fields) -> bytes:
    fields = {"inner_packet": IP(src="10.0.0.1", dst="10.0.0.2") / TCP()} | fields
    return bytes(report.TelemetryReport(node_id=7, **fields))


def individual(**fields) -> bytes:
    return built(**fields)[8:]


@pytest.fixture
def pcap(tmp_path):
    def write(*payloads, port=report.DEFAULT_PORT):
        path = tmp_path / "made.pcap"
        wrpcap(str(path), [frame(p, port) for p in payloads])
        return path

    return write


def test_several_reports_in_one_datagram(tshark, pcap):
    drop = individual(dropped=1, metadata_bits=report.DROPPED_BITS, drop_reason=73)
    path = pcap(built(occupancy=5) + individual(occupancy=6) + drop)
    expected = reports_of(path)
    assert [len(r) for r in expected] == [3]
    compare(dissect(tshark, path), expected)


def test_all_metadata_and_unknown_domains(tshark, pcap):
    path = pcap(
        built(metadata_bits=0x7FFF, reserved_metadata=b"\xee" * 24, hop_latency=9, buffer_id=3),
        built(domain=77, domain_bits=0x8000, unknown_metadata=b"abcd", limit=None),
        built(inner_packet=None, inner_type=0),
        built(inner_type=3, inner_packet=Ether(**MACS) / IP(dst="10.0.0.2") / UDP()),
        built(inner_packet=IP(src="10.0.0.1", dst="10.0.0.2") / TCP() / Raw(b"x" * 1200)),
    )
    packets = dissect(tshark, path)
    compare(packets, reports_of(path))
    assert packets[1]["tidemark.unknown_metadata"] == ["61626364"]


def test_the_tag_is_a_report_without_a_packet(tshark, pcap):
    code = bytes(range(16))
    path = pcap(bytes(built()) + bytes.fromhex("100604000000544d20000000") + code)
    expected = reports_of(path)
    assert [len(r) for r in expected] == [2]
    assert report.as_dict(expected[0][1])["tag"] == code.hex()
    packets = dissect(tshark, path)
    compare(packets, expected)
    assert packets[0]["tidemark.tag"] == [code.hex()]


def test_damage_is_shown(tshark, pcap):
    whole = built()
    beyond = bytearray(whole)
    beyond[9] = 200
    metadata = bytearray(whole)
    metadata[10] = 200
    missing = bytearray(whole)
    missing[10] = 1
    bare = bytes(whole[:8]) + b"\x14\x02\x00\x20"
    path = pcap(bytes(beyond), bytes(metadata), bytes(missing), bare)
    for layers in dissect(tshark, path):
        assert "tidemark.malformed" in layers


def test_every_cut_is_survived(tshark, pcap):
    dissect(tshark, pcap(*(built()[:n] for n in range(1, 92))))


def test_other_versions_are_named(tshark, pcap):
    old = b"\x10" + built()[1:]
    (layers,) = dissect(tshark, pcap(old))
    assert "tidemark.version.unknown" in layers
    assert layers["_ws.col.Info"] == ["Telemetry report version 1"]


def test_preferences(tshark, pcap):
    path = pcap(built(), port=5555)
    assert "tidemark.version" not in dissect(tshark, path)[0]
    (layers,) = dissect(tshark, path, "-o", "tidemark.port:5555")
    assert layers["tidemark.version"] == ["2"]
    assert "tidemark.inner" in layers and "tcp.srcport" not in layers
    (layers,) = dissect(tshark, path, "-o", "tidemark.port:5555", *DISSECTED)
    assert "tcp.srcport" in layers


def test_a_frame_is_read_below_its_tags(tshark, pcap):
    inner = Ether(**MACS) / Dot1Q(vlan=7) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(dport=9)
    (layers,) = dissect(tshark, pcap(built(inner_type=3, inner_packet=inner)))
    assert layers["_ws.col.Info"][0].endswith("10.0.0.1:53 > 10.0.0.2:9")
    cut = bytes(built(inner_type=3, inner_packet=inner))
    dissect(tshark, pcap(*(cut[:end] for end in range(len(cut) - 40, len(cut)))))


def test_a_limit_is_its_number_and_none_is_said(tshark, pcap):
    lines = rows(tshark, pcap(built(limit=904), built(limit=0xFFFFFFFF)), "-V")
    found = [line.strip() for line in lines if "Limit in force" in line]
    assert found == ["Limit in force: 904", "Limit in force: 4294967295 (unlimited)"]
