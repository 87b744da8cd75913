# SPDX-License-Identifier: Apache-2.0
"""The link by which the controller reaches BMv2.

BMv2 runs in the namespace of its ports, so its Thrift service, which listens on every address, is
reachable from nowhere else; its P4Runtime server listens on a link of its own to the root
namespace.
"""

from __future__ import annotations

from pyroute2 import IPRoute

from .. import kernel, wiring
from ..state import RunState

NETWORK = "198.18.255.4/30"
CONTROLLER_ADDRESS = "198.18.255.5"
SWITCH_ADDRESS = "198.18.255.6"
_PREFIX_LENGTH = 30
_INTERFACE = "mgmt"


def connect(state: RunState, interface: str, switch_namespace: str) -> None:
    """`interface`: the controller's end."""
    state.add_interface(interface)
    with IPRoute() as ipr:
        ipr.link(
            "add",
            ifname=interface,
            kind="veth",
            peer={"ifname": _INTERFACE, "net_ns_fd": switch_namespace},
        )
        kernel.set_sysctls({f"net.ipv6.conf.{interface}.disable_ipv6": "1"})
        wiring.set_up(ipr, interface, CONTROLLER_ADDRESS, _PREFIX_LENGTH)
    with IPRoute(netns=switch_namespace) as ipr:
        wiring.set_up(ipr, _INTERFACE, SWITCH_ADDRESS, _PREFIX_LENGTH)
        wiring.raise_loopback(ipr)
