# SPDX-License-Identifier: Apache-2.0
"""The programs of a plan, running."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import ClassVar

from ...json_types import JsonObject
from ...lab import START_TIMEOUT_S, Lab
from ...preflight import Paths, Ports
from ...processes import Child
from ..backend import Place
from ..live import Links
from ..plan import Plan
from . import configs
from .layout import Layout
from .network import PlanNetwork


class PlanSession(Lab):
    """`start`, then the phases, then `finish`; always `clean`."""

    LAYOUT: ClassVar[type[Layout]] = Layout
    NETWORK: ClassVar[type[PlanNetwork]] = PlanNetwork

    def __init__(self, plan: Plan, ports: Ports, paths: Paths, run_dir: Path):
        self.plan = plan
        self.layout = self.LAYOUT(plan, secrets.token_hex(2))
        spec = configs.traffic(self.layout)
        super().__init__(self.NETWORK(self.layout), spec, ports, paths, run_dir)

    def start(self) -> None:
        """Everything but the traffic."""
        self.start_network()
        self.start_switches()
        self.start_collector()
        child = self.start_controller()
        for k in self.layout.switches:
            self._wait_for_limit(k, child)

    def start_switches(self) -> None:
        for k in self.layout.switches:
            port = configs.grpc_port(self.ports, k)
            self.run_switch(f"switch-{k + 1}", port, self.layout.switch_ports(k))

    def start_collector(self) -> None:
        self.run_collector(configs.collector(self.layout, self.ports, self.capture_dir))

    def start_controller(self) -> Child:
        return self.run_controller(self.controller_document())

    def controller_document(self) -> JsonObject:
        return configs.controller(self.layout, self.ports, self.paths, self.run_dir)

    def _wait_for_limit(self, switch: int, child: Child) -> None:
        wanted = self.plan.first_limits()[switch].acts_at_bytes
        self.supervisor.wait_until(
            lambda: self.limit_bytes(switch) == wanted,
            f"the controller to set the limit of switch {switch + 1}",
            START_TIMEOUT_S,
            child,
        )

    @property
    def links(self) -> Links:
        """At the controller, once it runs."""
        layout = self.layout
        places = [Place(layout.node(k), layout.out_port(k)) for k in layout.switches]
        return Links(self.plan, places, self.controller, self.supervisor.check)

    def limit_bytes(self, switch: int) -> int | None:
        """What acts first; None while unknown."""
        return self.limit_at(self.layout.node(switch), self.layout.out_port(switch))
