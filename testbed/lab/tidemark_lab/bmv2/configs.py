# SPDX-License-Identifier: Apache-2.0
"""The controller's configuration for a run on BMv2: two switches, one link. Pure."""

from __future__ import annotations

from ..configs import program_files
from ..json_types import JsonObject
from ..preflight import Paths
from ..scenario import Scenario
from .topology import TRUNK_PORT

DEVICE_ID = 1


def controller(
    embedded: JsonObject,
    scenario: Scenario,
    paths: Paths,
    *,
    path_port: int,
    grpc: str,
    trunk_of_path: int,
) -> JsonObject:
    """`embedded`: that of the same scenario on the embedded switch. `path_port`: TCP port of
    the long path's switch; `grpc`: BMv2's P4Runtime server."""
    (switch,) = embedded["switches"]
    receiver = scenario.receiver
    provision = {
        **switch["provision"],
        "flood_ports": [TRUNK_PORT, receiver.port],
        "forward": _forward(scenario, {h.port: TRUNK_PORT for h in scenario.senders}),
    }
    bmv2 = {**switch, "address": grpc, "device_id": DEVICE_ID, "provision": provision}
    path = {
        "node": path_node(scenario),
        "address": f"127.0.0.1:{path_port}",
        "provision": {
            **program_files(paths),
            "flood_ports": [*(h.port for h in scenario.senders), trunk_of_path],
            "forward": _forward(scenario, {receiver.port: trunk_of_path}),
        },
    }
    return {**embedded, "switches": [bmv2, path]}


def path_node(scenario: Scenario) -> int:
    """Its packets are not reported; the controller tells switches by their node."""
    return scenario.node_id + 1


def _forward(scenario: Scenario, moved: dict[int, int]) -> list[JsonObject]:
    return [{"mac": h.mac, "port": moved.get(h.port, h.port)} for h in scenario.hosts]
