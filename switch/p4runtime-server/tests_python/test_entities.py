# SPDX-License-Identifier: Apache-2.0
"""p4runtime-shell with a program that has every kind of entity. Frames enter
as packet-outs that go through the tables, and leave as packet-ins."""

import pytest
from conftest import CPU_PORT, ENTITIES
from p4.v1 import p4runtime_pb2
from p4runtime_sh.p4runtime import P4RuntimeException, P4RuntimeWriteException

HOST = "02:00:00:00:00:01"
MARK = 0x88B5
PUNT = 0x88B6
MARK_BYTES = 11
# The program counts by port modulo 16.
CELL = CPU_PORT % 16
WAIT_S = 10


def mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def frame(source: int = 9, kind: int = MARK) -> bytes:
    body = bytes(MARK_BYTES) if kind == MARK else b""
    return mac(HOST) + source.to_bytes(6, "big") + kind.to_bytes(2, "big") + body + b"rest"


class Port:
    """The CPU port, as the controller sees it."""

    def __init__(self, shell):
        self.shell = shell
        self.received = shell.PacketIn()

    def send(self, payload: bytes, submit: int = 1, port: int = 0) -> None:
        out = self.shell.PacketOut(payload)
        out.metadata.set(egress_port=str(port), submit=str(submit), unused="0")
        out.send()

    def next(self):
        return self.received.packet_in_queue.get(timeout=WAIT_S).packet

    def mark(self, source: int = 9) -> dict[str, int]:
        """Sends a frame and returns the program's mark on it."""
        self.send(frame(source))
        m = self.next().payload[14:]
        widths = {"meter": 1, "direct": 1, "class": 2, "path": 2, "seen": 4, "known": 1}
        out = {}
        for name, width in widths.items():
            out[name], m = int.from_bytes(m[:width], "big"), m[width:]
        return out


def member(shell, number: int, path: int):
    m = shell.ActionProfileMember("Switch.paths")(action="Switch.forward", member_id=number)
    m.action["port"] = str(CPU_PORT)
    m.action["path"] = str(path)
    return m


@pytest.fixture
def port(entities):
    """Makes all frames to the host come back."""
    member(entities, 1, 7).insert()
    l2 = entities.TableEntry("Switch.l2")
    l2.match["h.ethernet.dst"] = HOST
    l2.member_id = 1
    l2.insert()
    return Port(entities)


def test_packet_in_and_out(port):
    port.send(frame(kind=PUNT))
    packet = port.next()
    assert packet.payload == frame(kind=PUNT)
    assert int.from_bytes(packet.metadata[0].value, "big") == CPU_PORT
    # Straight to a port, which is the same one here.
    port.send(b"any bytes at all", submit=0, port=CPU_PORT)
    assert port.next().payload == b"any bytes at all"
    port.send(frame(kind=PUNT))
    assert [p.packet.payload for p in port.received.sniff(timeout=0.5)] == [frame(kind=PUNT)]


def test_counters(entities, port):
    for _ in range(3):
        port.mark()
    cell = entities.CounterEntry("Switch.received")
    cell.index = CELL
    (found,) = cell.read()
    # Counted with the packet-out header, which precedes the frame at that point.
    assert (found.packet_count, found.byte_count) == (3, 3 * (2 + len(frame())))
    assert len(list(entities.CounterEntry("Switch.received").read())) == 16
    cell.packet_count = 100
    cell.byte_count = 1000
    cell.modify()
    port.mark()
    (found,) = cell.read()
    assert (found.packet_count, found.byte_count) == (101, 1000 + 2 + len(frame()))
    sent = entities.CounterEntry("Out.sent")
    sent.index = CPU_PORT
    assert [c.packet_count for c in sent.read()] == [4]
    beyond = entities.CounterEntry("Switch.received")
    beyond.index = 16
    with pytest.raises(P4RuntimeException):
        list(beyond.read())


def police(shell):
    entry = shell.TableEntry("Switch.police")(action="Switch.police_permit")
    entry.match["s.ingress_port"] = str(CPU_PORT)
    return entry


def test_direct_counters(entities, port):
    entry = police(entities)
    entry.insert()
    port.mark()
    port.mark()
    direct = entities.DirectCounterEntry("Switch.policed")
    direct.table_entry.match["s.ingress_port"] = str(CPU_PORT)
    (found,) = direct.read()
    assert (found.packet_count, found.byte_count) == (2, 2 * (2 + len(frame())))
    direct.packet_count = 40
    direct.modify()
    port.mark()
    asked = entities.TableEntry("Switch.police")
    asked.counter_data  # noqa: B018 (requests it)
    (found,) = asked.read()
    assert found.counter_data.packet_count == 41


def test_meters(entities, port):
    meter = entities.MeterEntry("Switch.rate")
    meter.index = CELL
    meter.cir, meter.cburst, meter.pir, meter.pburst = 0, 2, 0, 3
    meter.modify()
    (found,) = meter.read()
    assert (found.cburst, found.pburst) == (2, 3)
    # Rates of 0: only the bursts let packets through.
    assert [port.mark()["meter"] for _ in range(5)] == [0, 0, 1, 2, 2]
    meter.clear_config()
    meter.modify()
    assert port.mark()["meter"] == 0

    entry = police(entities)
    entry.meter_config.cir = 0
    entry.meter_config.cburst = 2 + len(frame())
    entry.meter_config.pburst = 2 * (2 + len(frame()))
    entry.insert()
    assert [port.mark()["direct"] for _ in range(3)] == [0, 1, 2]
    direct = entities.DirectMeterEntry("Switch.police_rate")
    direct.table_entry.match["s.ingress_port"] = str(CPU_PORT)
    (found,) = direct.read()
    assert found.cburst == 2 + len(frame())
    direct.clear_config()
    direct.modify()
    assert port.mark()["direct"] == 0


def register(shell, index: int, value: int | None = None):
    """Reads or writes a register through the client; the shell has no command for that."""
    entity = p4runtime_pb2.Entity()
    entry = entity.register_entry
    all_of_them = shell.client.get_p4info().registers
    entry.register_id = next(r.preamble.id for r in all_of_them if r.preamble.alias == "seen")
    entry.index.index = index
    if value is not None:
        entry.data.bitstring = value.to_bytes(4, "big")
        update = p4runtime_pb2.Update(type=p4runtime_pb2.Update.MODIFY, entity=entity)
        shell.client.write_update(update)
        return None
    (answer,) = list(shell.client.read_one(entity))
    return int.from_bytes(answer.entities[0].register_entry.data.bitstring, "big")


def test_registers(entities, port):
    assert [port.mark()["seen"] for _ in range(3)] == [1, 2, 3]
    assert register(entities, CELL) == 3
    register(entities, CELL, 1_000_000)
    assert port.mark()["seen"] == 1_000_001
    assert register(entities, 0) == 0


def test_action_profile(entities, port):
    m = entities.ActionProfileMember("Switch.classes")(action="Switch.set_class", member_id=5)
    m.action["class"] = "300"
    m.insert()
    entry = entities.TableEntry("Switch.classify")
    entry.match["h.ethernet.type"] = f"{MARK}&&&0xffff"
    entry.priority = 1
    entry.member_id = 5
    entry.insert()
    assert port.mark()["class"] == 300
    m.action["class"] = "301"
    m.modify()
    assert port.mark()["class"] == 301
    with pytest.raises(P4RuntimeWriteException, match="FAILED_PRECONDITION"):
        m.delete()
    entry.delete()
    m.delete()
    assert port.mark()["class"] == 0


def test_selector(entities, port):
    for number in (2, 3):
        member(entities, number, number).insert()
    group = entities.ActionProfileGroup("Switch.paths")(group_id=1)
    group.add(2).add(3, weight=3)
    group.insert()
    entry = entities.TableEntry("Switch.l2")
    entry.match["h.ethernet.dst"] = HOST
    entry.group_id = 1
    entry.modify()
    # Spread out: the lowest bits of a CRC do not depend on every bit alone.
    sources = [n * 0x9E3779B1 % 2**32 for n in range(200)]
    paths = [port.mark(source)["path"] for source in sources]
    # The hash of a source is always the same; about three in four take path 3.
    assert paths == [port.mark(source)["path"] for source in sources]
    assert set(paths) == {2, 3}
    assert 110 < paths.count(3) < 190
    group.clear()
    group.add(2)
    group.modify()
    assert {port.mark(source)["path"] for source in sources[:20]} == {2}
    (found,) = entities.ActionProfileGroup("Switch.paths").read()
    assert [m.member_id for m in found.members] == [2]
    group.clear()
    group.add(2, watch_port=b"\x01")
    with pytest.raises(P4RuntimeWriteException, match="watch ports"):
        group.modify()


def test_action_sets(entities):
    entry = entities.TableEntry("Switch.l2")
    entry.match["h.ethernet.dst"] = HOST
    one_shot = entities.Oneshot("Switch.l2")
    for path, weight in ((11, 1), (12, 2)):
        action = entities.Action("Switch.forward")
        action["port"], action["path"] = str(CPU_PORT), str(path)
        one_shot.add(action, weight=weight)
    entry.oneshot = one_shot
    entry.insert()
    port = Port(entities)
    sources = [n * 0x9E3779B1 % 2**32 for n in range(50)]
    assert {port.mark(source)["path"] for source in sources} == {11, 12}
    (found,) = entities.TableEntry("Switch.l2").read()
    assert [a.weight for a in found.oneshot.actions] == [1, 2]
    assert not list(entities.ActionProfileMember("Switch.paths").read())
    with pytest.raises(P4RuntimeWriteException, match="INVALID_ARGUMENT"):
        member(entities, 1, 1).insert()


def test_digests(entities, port):
    default = entities.TableEntry("Switch.sources")(action="Switch.learn", is_default=True)
    default.modify()
    digest = entities.DigestEntry("learned_t")
    digest.max_list_size = 1
    digest.insert()
    (found,) = entities.DigestEntry("learned_t").read()
    assert found.max_list_size == 1
    lists = entities.DigestList()
    for source in (0x20000000005, 0x20000000006):
        port.mark(source)
        data = lists.digest_list_queue.get(timeout=WAIT_S).digest.data
        assert len(data) == 1
        values = [int.from_bytes(m.bitstring, "big") for m in data[0].struct.members]
        assert values == [source, CPU_PORT, 0]
    digest.delete()
    port.mark(0x20000000007)
    assert not list(lists.sniff(timeout=0.3))


def test_value_sets(entities, port):
    entity = p4runtime_pb2.Entity()
    entry = entity.value_set_entry
    sets = entities.client.get_p4info().value_sets
    entry.value_set_id = next(s.preamble.id for s in sets if s.preamble.name == "Parse.kinds")
    field = entry.members.add().match.add(field_id=1)
    field.exact.value = b"\x88\xb9"
    update = p4runtime_pb2.Update(type=p4runtime_pb2.Update.MODIFY, entity=entity)
    kind = 0x88B9
    port.send(frame(kind=kind))
    assert port.next().payload == frame(kind=kind)
    entities.client.write_update(update)
    port.send(frame(kind=kind))
    # The program put a mark before the payload.
    payload = port.next().payload
    assert payload[14:] == bytes(MARK_BYTES - 1) + b"\x01rest"


def test_reconcile(entities, port):
    assert port.mark()["path"] == 7
    client = entities.client
    request = p4runtime_pb2.SetForwardingPipelineConfigRequest(
        device_id=1,
        action=p4runtime_pb2.SetForwardingPipelineConfigRequest.RECONCILE_AND_COMMIT,
    )
    request.election_id.CopyFrom(p4runtime_pb2.Uint128(high=0, low=1))
    request.config.p4info.CopyFrom(client.get_p4info())
    program = (ENTITIES / "entities.json").read_bytes()
    # To the switch, this is a different program.
    request.config.p4_device_config = program + b"\n"
    client.stub.SetForwardingPipelineConfig(request)
    answer = port.mark()
    assert (answer["path"], answer["seen"]) == (7, 1), "entries stay, registers are reset"
    request.config.p4_device_config = program + b"\n"
    client.stub.SetForwardingPipelineConfig(request)
    assert port.mark()["seen"] == 2, "the same program goes on"
