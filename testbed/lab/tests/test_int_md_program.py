# SPDX-License-Identifier: Apache-2.0
"""The INT-MD program as source, transit and sink, in virtual time: from packets to records."""

import csv
import json
import struct
import subprocess

import pytest

from tidemark_lab.experiment import grid, load
from tidemark_lab.experiment.bmv2.back_end import Bmv2
from tidemark_lab.experiment.embedded import configs, programs
from tidemark_lab.experiment.embedded.back_end import Embedded
from tidemark_lab.experiment.embedded.layout import RECEIVER_MAC, Layout
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.simulated import Ns3
from tidemark_lab.places import EXPERIMENTS
from tidemark_lab.preflight import Paths, Ports

PACKETS = 60
# Faster than the second switch's rate, so that its queue grows.
APART_US = 200
DSCP = 10


def checksum(header: bytes) -> int:
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(n: int, protocol: int, payload: bytes) -> bytes:
    if protocol == 6:
        # 12 bytes of options, like Linux sends them.
        options = bytes.fromhex("0101080a0000000100000002")
        head = struct.pack(">HHIIBBHHH", 40000, 5001, n * 1000, 1, 0x80, 0x10, 512, 0xABCD, 0)
        transport = head + options
    else:
        transport = struct.pack(">HHHH", 40001, 5002, 8 + len(payload), 0xABCD)
    length = 20 + len(transport) + len(payload)
    ip = struct.pack(">BBHHHBBH", 0x45, DSCP << 2 | 2, length, n, 0x4000, 64, protocol, 0)
    ip += bytes([198, 18, 0, 11, 198, 18, 0, 250])
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    macs = bytes.fromhex(RECEIVER_MAC.replace(":", "") + "02746d000001")
    return macs + b"\x08\x00" + ip + transport + payload


def write_pcap(path, frames):
    with path.open("wb") as out:
        out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for us, data in frames:
            out.write(struct.pack("<IIII", 1 + us // 10**6, us % 10**6, len(data), len(data)))
            out.write(data)


def read_pcap(path):
    data = path.read_bytes()
    at, found = 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        found.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return found


@pytest.fixture
def layout():
    (point,) = grid.points(load.read(EXPERIMENTS / "int-md.toml"), "int-md")
    return Layout(Plan.of(point.experiment, 1), "0000")


@pytest.mark.parametrize("protocol", [6, 17])
def test_three_switches_from_packets_to_records(layout, protocol, binary, tmp_path):
    sent = [frame(n, protocol, bytes([n]) * (400 + n)) for n in range(PACKETS)]
    came = tmp_path / "sent.pcap"
    write_pcap(came, [(n * APART_US, f) for n, f in enumerate(sent)])
    in_port = 1
    for switch in layout.switches:
        out = tmp_path / f"s{switch + 1}"
        out.mkdir()
        argv = [binary("tidemark-switch"), "pcap", "--in", f"{in_port}={came}", "--out", out]
        argv += programs.arguments(layout, switch, Paths.find(), out)
        if protocol == 17 and switch == 0:
            argv += ["--entries", _udp_too(layout, out)]
        port = layout.out_port(switch)
        rate = "10mbit" if switch == 1 else "100mbit"
        argv += ["--port", f"{port}=rate={rate},queue=64p"]
        subprocess.run(argv, check=True, capture_output=True, timeout=60)
        came = out / f"port-{port}.pcap"
        between = read_pcap(came)
        # 16 bytes of shim and header, 32 per hop so far; nothing after the sink.
        more = 0 if switch == 2 else 16 + 32 * (switch + 1)
        assert [len(f) for f in between] == [len(f) + more for f in sent]
        assert all(checksum(f[14:34]) == 0 for f in between)
        in_port = layout.back_port(switch + 1) if switch < 2 else 0
    assert read_pcap(came) == sent, "behind the sink packets are as they came to the source"

    nodes = tmp_path / "nodes.toml"
    described = "".join(
        f'[nodes.{layout.node(k)}]\ntime_unit = "us"\ndepth_unit = "packets"\npacket_bytes = 1\n'
        for k in layout.switches
    )
    nodes.write_text(described)
    reports = tmp_path / "s3" / f"port-{layout.report_port(2)}.pcap"
    argv = [binary("tidemark-collector"), "import", "--pcap", reports, "--nodes", nodes]
    done = subprocess.run(
        [*argv, "--out", tmp_path / "capture"], check=True, capture_output=True, text=True
    )
    said = f"{PACKETS} frames: {PACKETS} reports, {3 * PACKETS} hop records"
    assert said in done.stdout + done.stderr
    argv = [binary("tidemark-collector"), "export", tmp_path / "capture", "--csv"]
    subprocess.run([*argv, "--out", tmp_path / "hops.csv"], check=True, capture_output=True)
    with (tmp_path / "hops.csv").open() as file:
        hops = list(csv.DictReader(file))
    by_node = {k: [h for h in hops if int(h["node_id"]) == layout.node(k)] for k in range(3)}
    assert [len(found) for found in by_node.values()] == [PACKETS] * 3
    for k, found in by_node.items():
        assert {int(h["egress_port"]) for h in found} == {layout.out_port(k)}
        back = 1 if k == 0 else layout.back_port(k)
        assert {int(h["ingress_port"]) for h in found} == {back}
        # Headers of the packet without its INT stack.
        header = 52 if protocol == 6 else 28
        assert [int(h["ip_bytes"]) for h in found] == [len(f) - 14 for f in sent]
        assert [int(h["payload_bytes"]) for h in found] == [len(f) - 14 - header for f in sent]
    occupancy = [int(h["occupancy_bytes"]) for h in by_node[1]]
    assert max(occupancy) > 10 and occupancy == sorted(occupancy)
    assert max(int(h["occupancy_bytes"]) for h in by_node[0]) <= 1
    delays_us = [(int(h["egress_ns"]) - int(h["ingress_ns"])) / 1e3 for h in by_node[1]]
    # 10 Mb/s: the last packets wait for all earlier ones.
    assert delays_us[-1] > 1000 and delays_us == sorted(delays_us)


def _udp_too(layout, out):
    document = programs.entries(layout, 0, EXPERIMENTS / "int-md" / "source.json")
    document["table_entries"][0]["match"]["protocol"] = [17, "0xff"]
    path = out / "udp.json"
    path.write_text(json.dumps(document))
    return path


def test_a_name_that_the_lab_does_not_know(layout, tmp_path):
    source = tmp_path / "x.json"
    source.write_text('{"table_entries": [{"table": "$tabel"}]}')
    with pytest.raises(load.ExperimentError, match=r"x.json: \$tabel: the lab knows \$node, "):
        programs.entries(layout, 0, source)
    source.write_text("{")
    with pytest.raises(load.ExperimentError, match="is not JSON"):
        programs.entries(layout, 0, source)


def altered(**changes):
    document = load.read(EXPERIMENTS / "int-md.toml")
    for path, value in changes.items():
        grid.put(document, path, value)
    (point,) = grid.points(document, "int-md")
    return Plan.of(point.experiment, 1)


@pytest.mark.parametrize(
    ("changes", "back_end", "said"),
    [
        (
            {"phases.full.limit": "0.5bdp"},
            Embedded,
            "phases[0]: switch 1 has a program without a limit that could change: its queue is "
            "topology.switches[0].limit throughout",
        ),
        (
            {"topology.switches.[1].program.file": "/nowhere/x.json"},
            Embedded,
            "topology.switches[1].program.file: /nowhere/x.json is not there",
        ),
        (
            {"topology.switches.[2].program.entries": ["/nowhere/e.json"]},
            Embedded,
            "topology.switches[2].program.entries: /nowhere/e.json is not there",
        ),
        ({}, Bmv2, "topology.switches: program: only embedded runs programs of others"),
        ({}, Ns3, "topology.switches: program: only embedded runs programs of others"),
    ],
)
def test_what_cannot_be_is_refused(changes, back_end, said):
    assert said in back_end().refuse(altered(**changes))


def test_own_and_other_programs_side_by_side():
    document = load.read(EXPERIMENTS / "int-md.toml")
    del document["topology"]["switches"][0]["program"]
    (point,) = grid.points(document, "int-md")
    layout = Layout(Plan.of(point.experiment, 1), "0000")
    made = configs.controller(layout, Ports(), Paths.find(), EXPERIMENTS)
    assert [s["node"] for s in made["switches"]] == [10]
    nodes = configs.collector(layout, Ports(), EXPERIMENTS)["nodes"]
    assert [nodes[str(n)]["time_unit"] for n in (10, 11, 12)] == ["ns", "us", "us"]
    # Room for its limit of 100 kB.
    assert "queue=66p" in layout.switch_ports(1)[1]
