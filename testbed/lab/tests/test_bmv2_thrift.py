# SPDX-License-Identifier: Apache-2.0
"""Requests to BMv2 in Thrift's binary protocol, byte by byte."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from tidemark_lab.bmv2.thrift import Thrift


def answer_once(server: socket.socket, received: list[bytes], reply: bytes) -> None:
    with server.accept()[0] as client:
        received.append(client.recv(4096))
        client.sendall(reply)


def call(reply: bytes) -> bytes:
    """Returns the bytes of `set_egress_queue_depth(5, 8192)` to a server that answers `reply`."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer_once, args=(server, received, reply))
        thread.start()
        try:
            Thrift(*server.getsockname()).set_egress_queue_depth(5, 8192)
        finally:
            thread.join()
    return received[0]


NAME = b"set_egress_queue_depth"


def test_the_depth_is_sent_as_thrift_has_it():
    reply = struct.pack("!II", 0x80010002, len(NAME)) + NAME + struct.pack("!I", 1)
    # The result, field 0: an i32 of 0.
    sent = call(reply + struct.pack("!bhib", 8, 0, 0, 0))
    method = b"simple_switch:" + NAME
    expected = struct.pack("!II", 0x80010001, len(method)) + method + struct.pack("!I", 1)
    assert sent == expected + struct.pack("!bhibhib", 8, 1, 5, 8, 2, 8192, 0)


@pytest.mark.parametrize("reply", [b"", struct.pack("!II", 0x80010003, len(NAME)) + NAME])
def test_a_refusal_and_no_answer_are_errors(reply):
    with pytest.raises(RuntimeError, match="set_egress_queue_depth"):
        call(reply)
