# SPDX-License-Identifier: Apache-2.0
"""A running lab whose switch is BMv2."""

from __future__ import annotations

import signal
import socket
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from .. import netns
from ..errors import LabError
from ..json_types import JsonObject
from ..lab import START_TIMEOUT_S
from ..session import Session
from . import command, configs
from .thrift import Thrift
from .topology import SWITCH_ADDRESS, Bmv2Topology
from .traffic import packets_per_s

_PROGRAM_NAME = "switch"
# In a namespace where nothing else listens.
_GRPC_PORT = 9559
_THRIFT_PORT = 9090
_NOTIFICATIONS_PORT = 9091


class Bmv2Session(Session):
    """As `Session`; `start_switch` also starts the long path."""

    TOPOLOGY = Bmv2Topology
    topology: Bmv2Topology
    # It has no handler of the signal that asks it to end.
    ENDS_WITH: ClassVar[Mapping[str, frozenset[int]]] = {
        _PROGRAM_NAME: frozenset({0, -signal.SIGTERM})
    }

    def start_switch(self) -> None:
        self.run_switch("path", self.ports.switch, self.topology.path_ports())
        self._start_bmv2()
        self._set_queues()

    def _start_bmv2(self) -> None:
        binary = command.find()
        if binary is None:
            raise LabError(f"{command.PROGRAM} is not on PATH any more")
        argv = command.arguments(
            binary,
            device_id=configs.DEVICE_ID,
            interfaces=self.topology.bmv2_interfaces(),
            grpc=f"{SWITCH_ADDRESS}:{_GRPC_PORT}",
            thrift_port=_THRIFT_PORT,
            notifications=f"tcp://127.0.0.1:{_NOTIFICATIONS_PORT}",
        )
        child = self.supervisor.start(
            _PROGRAM_NAME, [*argv], real_time=True, namespace=self.topology.switch_namespace
        )
        for what, address in (
            ("P4Runtime", (SWITCH_ADDRESS, _GRPC_PORT)),
            ("Thrift (a build without it cannot be told rates)", ("127.0.0.1", _THRIFT_PORT)),
        ):
            self.supervisor.wait_until(
                partial(self._accepts, address),
                f"{command.PROGRAM} to serve {what}",
                START_TIMEOUT_S,
                child,
            )

    def _accepts(self, address: tuple[str, int]) -> bool:
        with netns.entered(self.topology.switch_namespace), socket.socket() as probe:
            probe.settimeout(0.5)
            return probe.connect_ex(address) == 0

    def _set_queues(self) -> None:
        """The bottleneck's rate, and room on every port: a queue of BMv2 holds 64 packets
        and drops in silence, reports too."""
        s = self.scenario
        thrift = Thrift("127.0.0.1", _THRIFT_PORT)
        with netns.entered(self.topology.switch_namespace):
            try:
                for port in self.topology.bmv2_interfaces():
                    thrift.set_egress_queue_depth(port, s.queue_depth_packets)
                thrift.set_egress_queue_rate(s.bottleneck_port, packets_per_s(s.capacity_bps))
            except (OSError, RuntimeError) as error:
                raise LabError(f"{command.PROGRAM}: its queues cannot be set: {error}") from error

    def controller_document(self, observe_s: float) -> JsonObject:
        return configs.controller(
            super().controller_document(observe_s),
            self.scenario,
            self.paths,
            path_port=self.ports.switch,
            grpc=f"{SWITCH_ADDRESS}:{_GRPC_PORT}",
            trunk_of_path=self.topology.path_trunk_port,
        )
