# SPDX-License-Identifier: Apache-2.0
"""Makes the network of a layout on BMv2."""

from __future__ import annotations

from dataclasses import dataclass

from ... import wiring
from ...bmv2 import management
from ...state import RunState
from ..embedded.network import PlanNetwork
from .layout import TRUNK_PORT, Bmv2Layout


@dataclass(frozen=True)
class Bmv2Network(PlanNetwork):
    layout: Bmv2Layout

    def build(self, state: RunState) -> None:
        layout = self.layout
        offloads = layout.plan.experiment.topology.offloads
        wiring.make_switch_namespace(state, layout.path_namespace)
        super().build(state)
        trunk = layout.path_end(layout.trunk_of_path)
        wiring.connect_switches(trunk, layout.end(0, TRUNK_PORT), offloads)
        management.connect(state, layout.management_interface, layout.switch_namespace(0))
