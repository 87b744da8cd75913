# SPDX-License-Identifier: GPL-2.0-only
"""Counters and state of the switches, read after the last frame."""

import json
import queue
from pathlib import Path

from p4.v1 import p4runtime_pb2
from side import Side
from tidemark_lab.bmv2.thrift import Thrift


def value(bytestring: bytes) -> int:
    """Returns a number; leading zeros have no meaning."""
    return int.from_bytes(bytestring, "big")


def register_sizes(program: Path) -> dict[str, int]:
    arrays = json.loads(program.read_text())["register_arrays"]
    return {r["name"]: r["size"] for r in arrays}


def registers(side: Side) -> dict[str, list[int]]:
    """Reads registers through P4Runtime."""
    names = {r.preamble.id: r.preamble.name for r in side.client.info.message.registers}
    out: dict[str, list[int]] = {}
    for e in side.client.read(p4runtime_pb2.Entity(register_entry={"register_id": 0})):
        r = e.register_entry
        out.setdefault(names[r.register_id], []).append(value(r.data.bitstring))
    return out


def counters(side: Side) -> dict[tuple, tuple[int, int]]:
    """Reads indirect counters by name and index, and direct counters by table and key."""
    info = side.client.info.message
    out = {}
    for c in info.counters:
        entity = p4runtime_pb2.Entity(counter_entry={"counter_id": c.preamble.id})
        for e in side.client.read(entity):
            data = e.counter_entry.data
            key = (c.preamble.name, e.counter_entry.index.index)
            out[key] = (data.packet_count, data.byte_count)
    for c in info.direct_counters:
        table = {"table_id": c.direct_table_id}
        entity = p4runtime_pb2.Entity(direct_counter_entry={"table_entry": table})
        for e in side.client.read(entity):
            d = e.direct_counter_entry
            match = tuple(value(m.exact.value) for m in d.table_entry.match)
            out[(c.preamble.name, match)] = (d.data.packet_count, d.data.byte_count)
    return out


def streamed(side: Side) -> tuple[list[tuple], set[tuple]]:
    """Returns packet-ins in order, and the contents of digests."""
    packets, digests = [], set()
    while True:
        try:
            message = side.client.inbox.get(timeout=0.5)
        except queue.Empty:
            return packets, digests
        if isinstance(message, Exception):
            raise message
        if message.HasField("packet"):
            metadata = tuple(value(m.value) for m in message.packet.metadata)
            packets.append((metadata, message.packet.payload.hex()))
        elif message.HasField("digest"):
            for d in message.digest.data:
                digests.add(tuple(value(m.bitstring) for m in d.struct.members))


def differences(ours: Side, theirs: Side, thrift: Thrift) -> tuple[str, int]:
    """Returns a summary of the comparison, and how many values differ."""
    found = 0

    def compare(what: str, a, b) -> None:
        nonlocal found
        if a != b:
            found += 1
            print(f"{what}: BMv2 {b}, embedded {a}")

    ours_registers = registers(ours)
    cells = 0
    for name, size in register_sizes(ours.program.json).items():
        mine, other = ours_registers[name], thrift.registers(name)
        compare(f"size of register {name}", len(mine), len(other))
        for i in range(size):
            compare(f"register {name}[{i}]", mine[i], other[i])
        cells += size
    mine, other = counters(ours), counters(theirs)
    compare("counters there are", sorted(map(str, mine)), sorted(map(str, other)))
    for key, count in other.items():
        compare(f"counter {key}", mine.get(key), count)
    (packets, digests), (packets_b, digests_b) = streamed(ours), streamed(theirs)
    compare("number of packet-ins", len(packets), len(packets_b))
    for i, (a, b) in enumerate(zip(packets, packets_b, strict=False)):
        compare(f"packet-in {i}", a, b)
    compare("digests", sorted(digests), sorted(digests_b))
    nonzero = sum(1 for v in other.values() if v != (0, 0))
    set_cells = sum(1 for list_ in ours_registers.values() for v in list_ if v)
    return (
        f"{cells} register cells ({set_cells} of them not 0), {len(other)} counters "
        f"({nonzero} of them not 0), {len(packets_b)} packet-ins, {len(digests_b)} digests",
        found,
    )
