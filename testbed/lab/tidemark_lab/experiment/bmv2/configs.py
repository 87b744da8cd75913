# SPDX-License-Identifier: Apache-2.0
"""The controller's configuration for a run on BMv2: two switches, one link. Pure."""

from __future__ import annotations

from ...bmv2.switch import DEVICE_ID, GRPC
from ...json_types import JsonObject
from ...preflight import Paths
from ..embedded.configs import program_files
from .layout import TRUNK_PORT, Bmv2Layout


def controller(
    embedded: JsonObject, layout: Bmv2Layout, paths: Paths, path_port: int
) -> JsonObject:
    """Returns the configuration. `embedded`: configuration of the same run on one embedded switch;
    `path_port`: TCP port of the switch that adds the delays."""
    receiver_port = layout.out_port(0)
    (switch,) = embedded["switches"]
    forward = switch["provision"]["forward"]
    senders = [f["port"] for f in forward if f["port"] != receiver_port]
    provision = {
        **switch["provision"],
        "flood_ports": [TRUNK_PORT, receiver_port],
        "forward": _forward(forward, dict.fromkeys(senders, TRUNK_PORT)),
    }
    bmv2 = {**switch, "address": GRPC, "device_id": DEVICE_ID, "provision": provision}
    path = {
        # Its packets are not reported; the controller identifies switches by their node.
        "node": switch["node"] + 1,
        "address": f"127.0.0.1:{path_port}",
        "provision": {
            **program_files(paths),
            "flood_ports": [*senders, layout.trunk_of_path],
            "forward": _forward(forward, {receiver_port: layout.trunk_of_path}),
        },
    }
    return {**embedded, "switches": [bmv2, path]}


def _forward(forward: list[JsonObject], moved: dict[int, int]) -> list[JsonObject]:
    return [{"mac": f["mac"], "port": moved.get(f["port"], f["port"])} for f in forward]
