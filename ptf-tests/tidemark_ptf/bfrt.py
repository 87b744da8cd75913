# SPDX-License-Identifier: Apache-2.0
"""A BFRT client that works by name. Its messages come from the SDE under test."""

import importlib.util
import json
import queue
import threading
from pathlib import Path

import grpc
from google.rpc import code_pb2, status_pb2

TIMEOUT_S = 20.0
SERVICE = "/bfrt_proto.BfRuntime/"
ALL_PIPES = 0xFFFF
ALL_DIRECTIONS = 0xFF
ALL_PARSERS = 0xFF
PRIORITY = "$MATCH_PRIORITY"


class Refused(Exception):
    """A write that the server refused."""

    def __init__(self, error):
        self.code = error.canonical_code
        super().__init__(f"{code_pb2.Code.Name(self.code)}: {error.message}")


def messages(sde_install: str):
    """Returns the SDE's module `bfruntime_pb2`."""
    found = sorted(Path(sde_install).glob("lib/**/bfrt_grpc/bfruntime_pb2.py"))
    if not found:
        raise FileNotFoundError(f"no bfrt_grpc/bfruntime_pb2.py below {sde_install}/lib")
    spec = importlib.util.spec_from_file_location("bfruntime_pb2", found[0])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _fields(described) -> dict:
    """Returns fields by name. The device's tables have them in `singleton`."""
    return {f["name"]: f for f in (d.get("singleton", d) for d in described)}


def _bytes(field, value: int) -> bytes:
    kind = field["type"]
    bits = {"uint8": 8, "uint16": 16, "uint64": 64}.get(kind["type"], kind.get("width", 32))
    return value.to_bytes((bits + 7) // 8, "big")


class Client:
    """A client, subscribed and bound to a program."""

    def __init__(self, address: str, p4_name: str, sde_install: str, client_id: int = 7):
        self._pb = messages(sde_install)
        self._id = client_id
        self._p4_name = p4_name
        options = [("grpc.max_receive_message_length", 64 << 20)]
        self._channel = grpc.insecure_channel(address, options)
        self._outbox: queue.Queue = queue.Queue()
        pb = self._pb
        stream = self._channel.stream_stream(
            SERVICE + "StreamChannel",
            pb.StreamMessageRequest.SerializeToString,
            pb.StreamMessageResponse.FromString,
        )
        self._stream = stream(iter(self._outbox.get, None))
        hello = pb.StreamMessageRequest(client_id=client_id)
        hello.subscribe.device_id = 0
        hello.subscribe.is_master = False
        self._outbox.put(hello)
        next(self._stream)
        self._reader = threading.Thread(target=self._read_stream, daemon=True)
        self._reader.start()
        bind = pb.SetForwardingPipelineConfigRequest(
            client_id=client_id, action=pb.SetForwardingPipelineConfigRequest.BIND
        )
        bind.config.add(p4_name=p4_name)
        self._call("SetForwardingPipelineConfig", bind, pb.SetForwardingPipelineConfigResponse)
        get = pb.GetForwardingPipelineConfigRequest(client_id=client_id)
        found = self._call(
            "GetForwardingPipelineConfig", get, pb.GetForwardingPipelineConfigResponse
        )
        program = next(c for c in found.config if c.p4_name == p4_name)
        documents = (program.bfruntime_info, found.non_p4_config.bfruntime_info)
        self.tables = {t["name"]: t for d in documents for t in json.loads(d)["tables"]}

    def _read_stream(self):
        try:
            for _ in self._stream:
                pass
        except grpc.RpcError:
            pass

    def _call(self, method: str, request, answer):
        call = self._channel.unary_unary(
            SERVICE + method, type(request).SerializeToString, answer.FromString
        )
        return call(request, timeout=TIMEOUT_S)

    def close(self):
        self._outbox.put(None)
        self._stream.cancel()
        self._reader.join(TIMEOUT_S)
        self._channel.close()

    def table(self, name: str) -> dict:
        """Finds a table by its whole name or the last parts of it."""
        if name in self.tables:
            return self.tables[name]
        found = [t for n, t in self.tables.items() if n.endswith("." + name)]
        if len(found) != 1:
            raise KeyError(f"{len(found)} tables are named {name}")
        return found[0]

    def _entry(self, request_entity, name, key, action=None, data=None):
        table = self.table(name)
        entry = request_entity.table_entry
        entry.table_id = table["id"]
        if key is None:
            entry.is_default_entry = True
        for field_name, value in (key or {}).items():
            field = next(f for f in table["key"] if f["name"] == field_name)
            part = entry.key.fields.add(field_id=field["id"])
            if isinstance(value, str):
                part.exact.value = value.encode()
            elif field["match_type"] == "Ternary":
                part.ternary.value, part.ternary.mask = (_bytes(field, v) for v in value)
            else:
                part.exact.value = _bytes(field, value)
        fields = _fields(table.get("data", []))
        if action is not None:
            specs = table["action_specs"]
            spec = next(s for s in specs if s["name"].rsplit(".", 1)[-1] == action)
            entry.data.action_id = spec["id"]
            fields |= _fields(spec.get("data", []))
        for field_name, value in (data or {}).items():
            field = fields[field_name]
            part = entry.data.fields.add(field_id=field["id"])
            if isinstance(value, bool):
                part.bool_val = value
            elif isinstance(value, str):
                part.str_val = value
            elif isinstance(value, list):
                array = part.bool_arr_val if field["type"]["type"] == "bool" else part.int_arr_val
                array.val.extend(value)
            else:
                part.stream = _bytes(field, value)
        return table

    def _target(self, request, pipe: int):
        request.client_id = self._id
        request.p4_name = self._p4_name
        request.target.device_id = 0
        request.target.pipe_id = pipe
        request.target.direction = ALL_DIRECTIONS
        request.target.prsr_id = ALL_PARSERS

    def write(self, kind: str, name: str, key, action=None, data=None, pipe: int = ALL_PIPES):
        """Writes one entry; a `key` of None means the default entry."""
        pb = self._pb
        request = pb.WriteRequest()
        self._target(request, pipe)
        update = request.updates.add(type=getattr(pb.Update, kind))
        self._entry(update.entity, name, key, action, data)
        try:
            answer = self._call("Write", request, pb.WriteResponse)
        except grpc.RpcError as e:
            for where, value in e.trailing_metadata() or ():
                if where == "grpc-status-details-bin":
                    details = status_pb2.Status.FromString(value).details
                    raise Refused(pb.Error.FromString(details[0].value)) from None
            raise
        for error in answer.status:
            if error.canonical_code:
                raise Refused(error)

    def clear(self, name: str):
        """Deletes all entries, and resets the default entry."""
        self.write("DELETE", name, {})

    def read(self, name: str, key, pipe: int = ALL_PIPES, from_hw: bool = False) -> dict:
        """Returns the fields of one entry by name: numbers, strings and flags."""
        pb = self._pb
        request = pb.ReadRequest()
        self._target(request, pipe)
        table = self._entry(request.entities.add(), name, key)
        request.entities[0].table_entry.table_flags.from_hw = from_hw
        call = self._channel.unary_stream(
            SERVICE + "Read", pb.ReadRequest.SerializeToString, pb.ReadResponse.FromString
        )
        found = {}
        for response in call(request, timeout=TIMEOUT_S):
            for entity in response.entities:
                data = entity.table_entry.data
                fields = _fields(table.get("data", []))
                for spec in table.get("action_specs", []):
                    if spec["id"] == data.action_id:
                        fields |= _fields(spec.get("data", []))
                by_id = {f["id"]: n for n, f in fields.items()}
                found |= {by_id.get(f.field_id, f.field_id): _value(f) for f in data.fields}
        return found


def _value(field):
    kind = field.WhichOneof("value")
    value = getattr(field, kind)
    if kind == "stream":
        return int.from_bytes(value, "big")
    return list(value.val) if kind.endswith("arr_val") else value
