# SPDX-License-Identifier: Apache-2.0
"""A lab whose controller is told how to control, and whose programs may be
restarted one by one."""

from __future__ import annotations

from pathlib import Path

from .json_types import JsonObject
from .lab import START_TIMEOUT_S, running
from .preflight import Paths, Ports
from .scenario import Scenario
from .session import Session

__all__ = ["ControlSession", "running"]


class ControlSession(Session):
    """`settings`: replaces keys of the controller's configuration, section by
    section."""

    def __init__(
        self, scenario: Scenario, ports: Ports, paths: Paths, run_dir: Path, settings: JsonObject
    ):
        super().__init__(scenario, ports, paths, run_dir)
        self.settings = settings

    def start_controller(self, observe_s: float) -> None:
        document = self.controller_document(observe_s)
        document["state_file"] = str(self.run_dir / "controller.state.json")
        for key, value in self.settings.items():
            if isinstance(value, dict):
                document[key] = {**document.get(key, {}), **value}
            else:
                document[key] = value
        child = self.run_controller(document)
        self.supervisor.wait_until(
            self.limit_bytes, "the controller to know the limit", START_TIMEOUT_S, child
        )
