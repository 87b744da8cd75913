# SPDX-License-Identifier: Apache-2.0
"""Tidemark in your Mininet topology: switches, hosts, links, collector and controller.

net = Mininet(topo=MyTopo(), switch=TidemarkSwitch, host=TidemarkHost, link=TidemarkLink,
              controller=None, autoSetMacs=True)
net.start()
tidemark = Tidemark(net)
tidemark.start()          # the console is at tidemark.url
"""

from .link import TidemarkLink
from .nodes import TidemarkHost, TidemarkSwitch
from .services import Tidemark

__all__ = ["Tidemark", "TidemarkHost", "TidemarkLink", "TidemarkSwitch"]
