# SPDX-License-Identifier: Apache-2.0
"""The management link between the controller and BMv2.

BMv2 runs in the namespace of its ports, so its Thrift service, which listens on every address, is
reachable from nowhere else; its P4Runtime server listens on a link of its own to the root
namespace.
"""

from __future__ import annotations

from pyroute2 import IPRoute

from .. import wiring
from ..addresses import LINK_PREFIX_LENGTH
from ..state import RunState
from ..wiring import End

NETWORK = "198.18.255.4/30"
CONTROLLER_ADDRESS = "198.18.255.5"
SWITCH_ADDRESS = "198.18.255.6"
_INTERFACE = "mgmt"


def connect(state: RunState, interface: str, switch_namespace: str) -> None:
    """Makes the management link. `interface`: the controller's end."""
    end = End(switch_namespace, _INTERFACE)
    wiring.connect_root(state, interface, CONTROLLER_ADDRESS, end)
    with IPRoute(netns=switch_namespace) as ipr:
        wiring.set_up(ipr, _INTERFACE, SWITCH_ADDRESS, LINK_PREFIX_LENGTH)
        wiring.raise_loopback(ipr)
