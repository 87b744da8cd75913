# SPDX-License-Identifier: GPL-2.0-only
"""The programs to run, and the writes made to both switches."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import frames
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2
from tidemark_ptf.p4rt import INSERT, MODIFY, Client, Info, number

REPOSITORY = Path(__file__).resolve().parents[4]
HOSTS = [1, 2, 3]
REPORT_PORT = 5
PORTS = [*HOSTS, REPORT_PORT]
REPORT_UDP_PORT = 32766


class BinaryInfo(Info):
    """P4Info with types, whose maps protobuf's text parser cannot fill in classes
    generated for an older protobuf."""

    def __init__(self, path: Path):
        self.message = p4info_pb2.P4Info.FromString(path.read_bytes())


@dataclass
class Program:
    name: str
    json: Path
    configure: Callable[[Client], None]
    frame: Callable[[Random], bytes]
    normalised: Callable[[bytes], bytes]

    @property
    def info(self) -> Info:
        binary = self.json.with_name(self.json.stem + ".p4info.bin")
        if binary.exists():
            return BinaryInfo(binary)
        return Info(str(self.json.with_name(self.json.stem + ".p4info.txtpb")))


def without_times(frame: bytes) -> bytes:
    """Clears the times of a report and the checksum that covers them."""
    is_report = (
        len(frame) >= 42 + 20 + 16
        and frame[12:14] == b"\x08\x00"
        and frame[23] == 17
        and frame[26:30] == bytes([10, 9, 0, 1])
        and int.from_bytes(frame[36:38], "big") == REPORT_UDP_PORT
    )
    if not is_report:
        return frame
    out = bytearray(frame)
    out[40:42] = bytes(2)
    # Group and main header: 8 + 12 bytes; ports and queue: 4 + 4; ingress time;
    # egress time if its bit is set.
    out[70:78] = bytes(8)
    if frame[54 + 1] & 0x04 or frame[54] & 0x04:
        out[78:86] = bytes(8)
    return bytes(out)


def configure_tidemark(c: Client) -> None:
    for host in HOSTS:
        match = {"hdr.ethernet.dst_addr": 0x020000000000 | host}
        c.write(INSERT, c.entry("Ingress.l2_forward", match, "Ingress.forward", {"port": host}))
    for table in ("Ingress.watch", "Ingress.watch6"):
        c.write(INSERT, c.entry(table, {}, "Ingress.report", {"sampling_shift": 1}, 1))
    # Port 3 refuses everything: drop reports. Port 1 marks everything.
    for port, action, params in (
        (3, "Ingress.drop_tail", {"limit_bytes": 0}),
        (1, "Ingress.mark_ce", {"threshold_bytes": 0, "limit_bytes": 0xFFFFFFFF}),
    ):
        match = {"egress_port": port}
        c.write(INSERT, c.entry("Ingress.queue_limit", match, action, params))
    params = {
        "src_mac": 0x020000000051,
        "dst_mac": 0x020000000052,
        "src_ip": 0x0A090001,
        "dst_ip": 0x0A090002,
        "udp_dst_port": REPORT_UDP_PORT,
        "src_port_mask": 3,
        "node_id": 10,
    }
    c.write(MODIFY, c.entry("Egress.report_to", action="Egress.set_destination", params=params))
    c.write(INSERT, c.clone_session(1, REPORT_PORT))
    c.write(INSERT, c.multicast_group(1, HOSTS))


def call(c: Client, action: str, **params: int) -> p4runtime_pb2.Action:
    a = c.info.action(action)
    out = p4runtime_pb2.Action(action_id=a.preamble.id)
    for p in a.params:
        out.params.add(param_id=p.id, value=number(params[p.name]))
    return out


def named(c: Client, kind: str, name: str) -> int:
    items = getattr(c.info.message, kind)
    return next(i.preamble.id for i in items if i.preamble.name == name)


def configure_entities(c: Client) -> None:
    """Writes members, weighted groups, meters without refill (so that colours do not
    depend on time), direct resources and digests."""
    paths = named(c, "action_profiles", "Switch.paths")
    classes = named(c, "action_profiles", "Switch.classes")

    def insert(**entity) -> None:
        c.write(INSERT, p4runtime_pb2.Entity(**entity))

    def member(profile: int, number: int, action: p4runtime_pb2.Action) -> None:
        m = p4runtime_pb2.ActionProfileMember(action_profile_id=profile, member_id=number)
        m.action.CopyFrom(action)
        insert(action_profile_member=m)

    # Not in the order of their ids.
    for number_, port in ((30, 1), (10, 2), (20, 3)):
        member(paths, number_, call(c, "Switch.forward", port=port, path=number_))
    member(paths, 40, call(c, "Switch.flood"))
    for number_ in (1, 2):
        member(classes, number_, call(c, "Switch.set_class", **{"class": 0x100 * number_}))
    for group, members in ((1, [(10, 2), (20, 1), (30, 3)]), (2, [(40, 1), (10, 1)])):
        g = p4runtime_pb2.ActionProfileGroup(action_profile_id=paths, group_id=group, max_size=8)
        for number_, weight in members:
            g.members.add(member_id=number_, weight=weight)
        insert(action_profile_group=g)
    for host in HOSTS:
        entity = c.entry("Switch.l2", {"h.ethernet.dst": 0x020000000000 | host})
        if host == 1:
            entity.table_entry.action.action_profile_member_id = 30
        else:
            entity.table_entry.action.action_profile_group_id = host - 1
        c.write(INSERT, entity)
    for number_, (kind, mask) in ((1, (frames.MARK, 0xFFFF)), (2, (0x0800, 0xFF00))):
        match = {"h.ethernet.type": (kind, mask)}
        entity = c.entry("Switch.classify", match, priority=number_)
        entity.table_entry.action.action_profile_member_id = number_
        c.write(INSERT, entity)
    for port, action in ((1, "Switch.police_permit"), (2, "Switch.police_refuse")):
        entity = c.entry("Switch.police", {"s.ingress_port": port}, action)
        config = entity.table_entry.meter_config
        config.cburst, config.pburst = 100_000, 250_000
        c.write(INSERT, entity)
    for host in (0, 1, 2):
        match = {"h.ethernet.src": 0x020000001000 | host}
        c.write(INSERT, c.entry("Switch.sources", match, "Switch.known_source"))
    c.write(MODIFY, c.entry("Switch.sources", action="Switch.learn"))
    meter = p4runtime_pb2.MeterEntry(meter_id=named(c, "meters", "Switch.rate"))
    meter.config.cburst, meter.config.pburst = 200, 500
    for port in HOSTS:
        meter.index.index = port
        c.write(MODIFY, p4runtime_pb2.Entity(meter_entry=meter))
    digest = p4runtime_pb2.DigestEntry(digest_id=named(c, "digests", "learned_t"))
    digest.config.max_list_size = 1
    insert(digest_entry=digest)
    c.write(INSERT, c.multicast_group(1, HOSTS))


TIDEMARK = Program(
    "tidemark",
    REPOSITORY / "p4src" / "build" / "tidemark.json",
    configure_tidemark,
    frames.internet,
    without_times,
)
ENTITIES = Program(
    "entities",
    Path(__file__).resolve().parents[1] / "data" / "entities" / "entities.json",
    configure_entities,
    frames.marked,
    lambda frame: frame,
)
