# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime client that works by name, one update per Write."""

import queue
import threading

import grpc
from google.protobuf import text_format
from google.rpc import code_pb2, status_pb2
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

TIMEOUT_S = 10.0
MAX_MESSAGE_BYTES = 64 << 20

INSERT = p4runtime_pb2.Update.INSERT
MODIFY = p4runtime_pb2.Update.MODIFY
DELETE = p4runtime_pb2.Update.DELETE


class Refused(Exception):
    """An update that the switch refused."""

    def __init__(self, errors):
        self.errors = errors
        self.codes = [e.canonical_code for e in errors]
        texts = [f"{code_pb2.Code.Name(e.canonical_code)}: {e.message}" for e in errors]
        super().__init__("; ".join(texts))


def refusal(error: grpc.RpcError):
    """Returns the p4.Error of each update in a failed Write; None if it has none."""
    if error.code() != grpc.StatusCode.UNKNOWN:
        return None
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
            return [p4runtime_pb2.Error.FromString(d.value) for d in status.details]
    return None


def number(value: int) -> bytes:
    """Returns the shortest big-endian form; one zero byte for 0."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


class Info:
    """Names and ids of a P4Info."""

    def __init__(self, path: str):
        with open(path) as f:  # noqa: PTH123 (ptf changes the directory; the path is absolute)
            self.message = text_format.Parse(f.read(), p4info_pb2.P4Info())

    def _named(self, kind: str, name: str):
        for item in getattr(self.message, kind):
            if item.preamble.name == name:
                return item
        raise KeyError(f"no {name} among the {kind} of the P4Info")

    def table(self, name: str):
        return self._named("tables", name)

    def action(self, name: str):
        return self._named("actions", name)

    def register(self, name: str):
        return self._named("registers", name)


class Client:
    """One controller: a stream with arbitration, and the other RPCs."""

    def __init__(self, address: str, device_id: int, info: Info, election_id: int = 1):
        self.device_id = device_id
        self.info = info
        self.election_id = p4runtime_pb2.Uint128(low=election_id)
        options = [
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ]
        self._channel = grpc.insecure_channel(address, options)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self._channel)
        self._outbox: queue.Queue = queue.Queue()
        self.inbox: queue.Queue = queue.Queue()
        self._stream = self.stub.StreamChannel(iter(self._outbox.get, None))
        self._reader = threading.Thread(target=self._read_stream, daemon=True)
        self._reader.start()
        request = p4runtime_pb2.StreamMessageRequest()
        request.arbitration.device_id = device_id
        request.arbitration.election_id.CopyFrom(self.election_id)
        self._outbox.put(request)

    def _read_stream(self):
        try:
            for message in self._stream:
                self.inbox.put(message)
        except grpc.RpcError as e:
            self.inbox.put(e)

    def next_message(self):
        message = self.inbox.get(timeout=TIMEOUT_S)
        if isinstance(message, grpc.RpcError):
            raise message
        return message

    def arbitration(self) -> int:
        """Returns the status code of the next arbitration message."""
        while True:
            message = self.next_message()
            if message.HasField("arbitration"):
                return message.arbitration.status.code

    def close(self):
        self._outbox.put(None)
        self._stream.cancel()
        self._reader.join(TIMEOUT_S)
        self._channel.close()

    def push(self, program: bytes):
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            election_id=self.election_id,
            action=p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
        )
        request.config.p4info.CopyFrom(self.info.message)
        request.config.p4_device_config = program
        self.stub.SetForwardingPipelineConfig(request, timeout=30)

    # --- entities ----------------------------------------------------------

    def entry(self, table: str, match=None, action=None, params=None, priority=0):
        """Makes a table entry. `match` maps a key to an int (exact) or to (value, mask)
        (ternary); no match and no priority means the default entry."""
        t = self.info.table(table)
        entry = p4runtime_pb2.TableEntry(table_id=t.preamble.id, priority=priority)
        for name, value in (match or {}).items():
            key = next(k for k in t.match_fields if k.name == name)
            field = entry.match.add(field_id=key.id)
            if isinstance(value, tuple):
                field.ternary.value = number(value[0])
                field.ternary.mask = number(value[1])
            else:
                field.exact.value = number(value)
        if match is None and priority == 0:
            entry.is_default_action = True
        if action is not None:
            a = self.info.action(action)
            call = entry.action.action
            call.action_id = a.preamble.id
            for param in a.params:
                if param.name in (params or {}):
                    call.params.add(param_id=param.id, value=number(params[param.name]))
        return p4runtime_pb2.Entity(table_entry=entry)

    def register_cell(self, name: str, index: int, value: int) -> p4runtime_pb2.Entity:
        entity = p4runtime_pb2.Entity()
        cell = entity.register_entry
        cell.register_id = self.info.register(name).preamble.id
        # Present even if it is 0: without an index all cells are meant.
        cell.index.CopyFrom(p4runtime_pb2.Index(index=index))
        cell.data.bitstring = number(value)
        return entity

    @staticmethod
    def multicast_group(group: int, ports) -> p4runtime_pb2.Entity:
        entity = p4runtime_pb2.Entity()
        entry = entity.packet_replication_engine_entry.multicast_group_entry
        entry.multicast_group_id = group
        for port in ports:
            # Instance 0 means "not replicated" to the program.
            entry.replicas.add(egress_port=port, instance=port)
        return entity

    @staticmethod
    def clone_session(session: int, port: int | None = None) -> p4runtime_pb2.Entity:
        entity = p4runtime_pb2.Entity()
        entry = entity.packet_replication_engine_entry.clone_session_entry
        entry.session_id = session
        if port is not None:
            entry.replicas.add(egress_port=port, instance=1)
        return entity

    # --- requests ------------------------------------------------------------

    def write_request(self, *updates) -> p4runtime_pb2.WriteRequest:
        request = p4runtime_pb2.WriteRequest(device_id=self.device_id, election_id=self.election_id)
        for kind, entity in updates:
            update = request.updates.add(type=kind)
            update.entity.CopyFrom(entity)
        return request

    def send(self, request: p4runtime_pb2.WriteRequest):
        try:
            self.stub.Write(request, timeout=TIMEOUT_S)
        except grpc.RpcError as e:
            errors = refusal(e)
            if errors is None:
                raise
            raise Refused(errors) from None

    def write(self, kind, entity):
        self.send(self.write_request((kind, entity)))

    def register(self, name: str, index: int) -> int:
        """Returns the value of a cell; not supported by BMv2's server."""
        cell = self.register_cell(name, index, 0)
        cell.register_entry.ClearField("data")
        (found,) = self.read(cell)
        return int.from_bytes(found.register_entry.data.bitstring, "big")

    def read(self, entity) -> list:
        request = p4runtime_pb2.ReadRequest(device_id=self.device_id)
        request.entities.add().CopyFrom(entity)
        found = []
        for response in self.stub.Read(request, timeout=TIMEOUT_S):
            found.extend(response.entities)
        return found
