# SPDX-License-Identifier: Apache-2.0
"""The programs of a plan on BMv2, running."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ...bmv2 import switch
from ...bmv2.rates import packets_per_s
from ...json_types import JsonObject
from ..embedded.configs import grpc_port
from ..embedded.session import PlanSession
from . import configs
from .layout import Bmv2Layout
from .network import Bmv2Network

_PROGRAM_NAME = "switch-1"


class Bmv2PlanSession(PlanSession):
    LAYOUT = Bmv2Layout
    NETWORK = Bmv2Network
    layout: Bmv2Layout
    ENDS_WITH: ClassVar[Mapping[str, frozenset[int]]] = {_PROGRAM_NAME: switch.ENDS_WITH}

    def start_switches(self) -> None:
        layout = self.layout
        self.run_switch("path", grpc_port(self.ports, 0), layout.path_ports())
        namespace, interfaces = layout.switch_namespace(0), layout.bmv2_interfaces()
        switch.start(self.supervisor, _PROGRAM_NAME, namespace, interfaces)
        rate_bps = round(self.plan.experiment.topology.switches[0].rate)
        switch.set_queues(
            namespace,
            interfaces,
            self.plan.queue_packets,
            layout.out_port(0),
            packets_per_s(rate_bps),
        )

    def controller_document(self) -> JsonObject:
        return configs.controller(
            super().controller_document(),
            self.paths,
            receiver_port=self.layout.out_port(0),
            path_port=grpc_port(self.ports, 0),
            grpc=switch.GRPC,
            trunk_of_path=self.layout.trunk_of_path,
        )
