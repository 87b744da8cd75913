# SPDX-License-Identifier: Apache-2.0
"""A running lab of a scenario: network, switch, collector, controller, traffic."""

from __future__ import annotations

import secrets
from pathlib import Path

from . import configs, traffic
from .json_types import JsonObject
from .lab import START_TIMEOUT_S, Lab
from .preflight import Paths, Ports
from .scenario import Scenario
from .topology import Topology

__all__ = ["START_TIMEOUT_S", "Session"]


class Session(Lab):
    """Everything of one run. `start_*` in this order; then `finish`, and always
    `clean`, which may be called at any point."""

    # What the network is made of; other switches have their own.
    TOPOLOGY: type[Topology] = Topology

    def __init__(self, scenario: Scenario, ports: Ports, paths: Paths, run_dir: Path):
        self.scenario = scenario
        self.topology = self.TOPOLOGY(scenario, secrets.token_hex(2))
        spec = traffic.make_spec(scenario, self.topology.namespace_of)
        super().__init__(self.topology, spec, ports, paths, run_dir)

    def start_switch(self) -> None:
        self.run_switch("switch", self.ports.switch, self.topology.switch_ports())

    def start_collector(self) -> None:
        self.run_collector(configs.collector(self.scenario, self.ports, self.capture_dir))

    def controller_document(self, observe_s: float) -> JsonObject:
        return configs.controller(self.scenario, self.ports, self.paths, self.run_dir, observe_s)

    def start_controller(self, observe_s: float) -> None:
        child = self.run_controller(self.controller_document(observe_s))
        wanted = self.scenario.bdp_limit_bytes
        self.supervisor.wait_until(
            lambda: self.limit_bytes() == wanted,
            f"the controller to set the limit of {wanted} bytes",
            START_TIMEOUT_S,
            child,
        )

    @property
    def link_path(self) -> str:
        return f"/links/{self.scenario.node_id}/{self.scenario.bottleneck_port}"

    def link(self) -> JsonObject:
        return self.controller.get(self.link_path)

    def limit_bytes(self) -> int | None:
        """What acts first at the bottleneck; None while unknown."""
        return self.limit_at(self.scenario.node_id, self.scenario.bottleneck_port)
