# SPDX-License-Identifier: Apache-2.0
"""Client of BMv2's Thrift services, for what its P4Runtime server does not offer.

A few calls in Thrift's binary protocol: too few to need its library.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import Any, BinaryIO

TIMEOUT_S = 10.0
# Version 1 of the protocol, and the message types.
VERSION = 0x80010000
CALL = 1
REPLY = 2
# Field types; 0 ends a struct.
STOP = 0
I32 = 8
I64 = 10
STRING = 11
# BMv2 has only this context.
CONTEXT = 0


def _i32(value: int) -> tuple[int, bytes]:
    return I32, struct.pack("!i", value)


def _i64(value: int) -> tuple[int, bytes]:
    return I64, struct.pack("!q", value)


def _string(value: str) -> tuple[int, bytes]:
    encoded = value.encode()
    return STRING, struct.pack("!I", len(encoded)) + encoded


class Thrift:
    """A client that opens one connection per call."""

    def __init__(self, host: str, port: int):
        self._where = (host, port)

    def set_egress_queue_rate(self, port: int, packets_per_s: int) -> None:
        """`i32 set_egress_queue_rate(1: i32 port_num, 2: i64 rate_pps)`"""
        arguments = [_i32(port), _i64(packets_per_s)]
        self._call("simple_switch:set_egress_queue_rate", arguments, lambda _: None)

    def set_egress_queue_depth(self, port: int, packets: int) -> None:
        """`i32 set_egress_queue_depth(1: i32 port_num, 2: i32 depth_pkts)`"""
        arguments = [_i32(port), _i32(packets)]
        self._call("simple_switch:set_egress_queue_depth", arguments, lambda _: None)

    def write_register(self, name: str, index: int, value: int) -> None:
        """`void bm_register_write(1: i32 cxt_id, 2: string name, 3: i32 index, 4: i64 value)`"""

        def nothing(stream: BinaryIO) -> None:
            # Anything else is an exception.
            if stream.read(1) != bytes([STOP]):
                raise RuntimeError(f"BMv2 does not write cell {index} of register {name}")

        arguments = [_i32(CONTEXT), _string(name), _i32(index), _i64(value)]
        self._call("standard:bm_register_write", arguments, nothing)

    def _call(
        self,
        method: str,
        arguments: list[tuple[int, bytes]],
        result: Callable[[BinaryIO], Any],
    ) -> Any:
        """Calls a method; `result` reads the return value from the reply."""
        name = method.encode()
        message = struct.pack("!II", VERSION | CALL, len(name)) + name + struct.pack("!I", 1)
        for i, (kind, value) in enumerate(arguments, start=1):
            message += struct.pack("!bh", kind, i) + value
        message += bytes([STOP])
        with socket.create_connection(self._where, timeout=TIMEOUT_S) as s:
            s.sendall(message)
            stream = s.makefile("rb")
            header = stream.read(8)
            if len(header) != 8:
                raise RuntimeError(f"{method}: no answer")
            version, length = struct.unpack("!II", header)
            # The method's name again (without the service), and the sequence number of the call.
            stream.read(length + 4)
            if version & 0xFF != REPLY:
                raise RuntimeError(f"{method} failed")
            return result(stream)
