# SPDX-License-Identifier: Apache-2.0
"""A running lab whose switch is BMv2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..json_types import JsonObject
from ..session import Session
from . import configs, switch
from .topology import Bmv2Topology
from .traffic import packets_per_s

_PROGRAM_NAME = "switch"


class Bmv2Session(Session):
    """As `Session`; `start_switch` also starts the long path."""

    TOPOLOGY = Bmv2Topology
    topology: Bmv2Topology
    ENDS_WITH: ClassVar[Mapping[str, frozenset[int]]] = {_PROGRAM_NAME: switch.ENDS_WITH}

    def start_switch(self) -> None:
        self.run_switch("path", self.ports.switch, self.topology.path_ports())
        s, namespace = self.scenario, self.topology.switch_namespace
        interfaces = self.topology.bmv2_interfaces()
        switch.start(self.supervisor, _PROGRAM_NAME, namespace, interfaces)
        switch.set_queues(
            namespace,
            interfaces,
            s.queue_depth_packets,
            s.bottleneck_port,
            packets_per_s(s.capacity_bps),
        )

    def controller_document(self, observe_s: float) -> JsonObject:
        return configs.controller(
            super().controller_document(observe_s),
            self.paths,
            receiver_port=self.scenario.receiver.port,
            path_port=self.ports.switch,
            grpc=switch.GRPC,
            trunk_of_path=self.topology.path_trunk_port,
        )
