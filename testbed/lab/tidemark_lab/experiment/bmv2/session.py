# SPDX-License-Identifier: Apache-2.0
"""Running network and programs of a plan on BMv2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ... import wiring
from ...bmv2 import management, switch
from ...bmv2.rates import packets_per_s
from ...json_types import JsonObject
from ..embedded.configs import grpc_port
from ..embedded.session import PlanSession
from . import configs
from .layout import TRUNK_PORT, Bmv2Layout

_PROGRAM_NAME = "switch-1"


class Bmv2PlanSession(PlanSession):
    LAYOUT = Bmv2Layout
    layout: Bmv2Layout
    ENDS_WITH: ClassVar[Mapping[str, frozenset[int]]] = {_PROGRAM_NAME: switch.ENDS_WITH}

    def build_network(self) -> None:
        """Builds the network, including the path between hosts and switch."""
        layout, state = self.layout, self.state
        offloads = self.plan.experiment.topology.offloads
        wiring.make_switch_namespace(state, layout.path_namespace)
        super().build_network()
        trunk = layout.path_end(layout.trunk_of_path)
        wiring.connect_switches(trunk, layout.end(0, TRUNK_PORT), offloads)
        management.connect(state, layout.management_interface, layout.switch_namespace(0))

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
        embedded = super().controller_document()
        return configs.controller(embedded, self.layout, self.paths, grpc_port(self.ports, 0))
