# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/how-to/int-md.md print what the page shows."""

import csv
import json
import os
import re
import struct
import subprocess
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "int-md.md"
REPORTS = 2000


def report(n: int) -> bytes:
    """An INT 1.0 stack in a report 1.0: node 8 with all metadata, node 7 with only its times."""
    us = 1000 * n
    none = 0xFFFFFFFF
    hop_8 = (8, 0x17000B, 400, 0x02000000 | n % 50, us + 500, us + 900)
    hop_7 = (7, none, none, none, us, none)
    header = struct.pack(">IIII", 0x14000040, 8, n, us + 1000)
    ethernet = bytes.fromhex("0200000000020200000000010800")
    ip = bytes.fromhex("455c05dc0001000040110000") + bytes([10, 1, 0, 9, 10, 1, 0, 8])
    udp = struct.pack(">HHHH", 50000, 5001, 1480, 0)
    shim = bytes.fromhex("01000f0010000609fc000000")
    stack = struct.pack(">12I", *hop_8, *hop_7)
    return header + ethernet + ip + udp + shim + stack


def pcap(path: Path) -> None:
    with path.open("wb") as out:
        out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for n in range(REPORTS):
            payload = report(n)
            udp = struct.pack(">HHHH", 32768, 32766, len(payload) + 8, 0)
            ip = struct.pack(">BBHIBBH", 0x45, 0, len(payload) + 28, 0, 64, 17, 0)
            packet = ip + bytes([192, 0, 2, 9, 192, 0, 2, 1]) + udp + payload
            out.write(
                struct.pack("<IIII", 1 + n // 1000, n % 1000 * 1000, len(packet), len(packet))
            )
            out.write(packet)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_page_goes_from_a_recording_to_estimates(binary, tmp_path):
    pcap(tmp_path / "reports.pcap")
    (nodes,) = blocks("toml")
    (tmp_path / "nodes.toml").write_text(nodes)
    folders = {
        str(Path(binary(name)).parent) for name in ("tidemark-collector", "tidemark-controller")
    }
    environment = dict(os.environ, PATH=os.pathsep.join([*folders, os.environ["PATH"]]))
    (commands,) = blocks("sh")
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{REPORTS} frames: {REPORTS} reports, {2 * REPORTS} hop records" in done.stdout
    assert "2000 frames: 2000 reports, 4000 hop records" in PAGE.read_text()
    assert "7:unknown" in done.stdout and "4294967295" not in done.stdout

    with (tmp_path / "hops.csv").open() as file:
        hops = list(csv.DictReader(file))
    assert len(hops) == 2 * REPORTS
    first = {hop["node_id"]: hop for hop in hops[:2]}
    assert (first["8"]["egress_port"], first["8"]["payload_bytes"]) == ("11", "1412")
    assert (first["7"]["egress_port"], first["7"]["occupancy_bytes"]) == ("", "")

    text = (tmp_path / "analysis.json").read_text()
    assert "4294967295" not in text
    links = {}
    for link in json.loads(text)["links"]:
        links[link["node"] if "node" in link else link["link"]["node_id"]] = link
    assert set(links) == {7, 8}
