# SPDX-License-Identifier: Apache-2.0
"""A running `simple_switch_grpc` in the namespace of its ports."""

from __future__ import annotations

import signal
import socket
from collections.abc import Mapping
from functools import partial

from .. import netns
from ..errors import LabError
from ..processes import START_TIMEOUT_S, Supervisor
from . import command
from .management import SWITCH_ADDRESS
from .thrift import Thrift

DEVICE_ID = 1
# In its own namespace, where nothing else listens.
_GRPC_PORT = 9559
_THRIFT_PORT = 9090
GRPC = f"{SWITCH_ADDRESS}:{_GRPC_PORT}"
# Expected exit codes: BMv2 does not handle SIGTERM.
ENDS_WITH = frozenset({0, -signal.SIGTERM})


def start(supervisor: Supervisor, name: str, namespace: str, interfaces: Mapping[int, str]) -> None:
    """Starts the switch. `interfaces`: by port. Returns once it serves."""
    binary = command.find()
    if binary is None:
        raise LabError(f"{command.PROGRAM} is not on PATH any more")
    argv = command.arguments(
        binary,
        device_id=DEVICE_ID,
        interfaces=dict(interfaces),
        grpc=GRPC,
        thrift_port=_THRIFT_PORT,
    )
    child = supervisor.start(name, [*argv], real_time=True, namespace=namespace)
    for what, address in (
        ("P4Runtime", (SWITCH_ADDRESS, _GRPC_PORT)),
        ("Thrift (a build without it cannot be told rates)", ("127.0.0.1", _THRIFT_PORT)),
    ):
        supervisor.wait_until(
            partial(_accepts, namespace, address),
            f"{command.PROGRAM} to serve {what}",
            START_TIMEOUT_S,
            child,
        )


def _accepts(namespace: str, address: tuple[str, int]) -> bool:
    with netns.entered(namespace), socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(address) == 0


def set_queues(
    namespace: str, ports: Mapping[int, str], depth_packets: int, port: int, packets_per_s: int
) -> None:
    """Sets the bottleneck's rate, and enough room on every port: a BMv2 queue holds 64 packets by
    default and drops silently, also reports."""
    thrift = Thrift("127.0.0.1", _THRIFT_PORT)
    with netns.entered(namespace):
        try:
            for each in ports:
                thrift.set_egress_queue_depth(each, depth_packets)
            thrift.set_egress_queue_rate(port, packets_per_s)
        except (OSError, RuntimeError) as error:
            raise LabError(f"{command.PROGRAM}: its queues cannot be set: {error}") from error
