# SPDX-License-Identifier: Apache-2.0
"""Addresses and ports of every lab on this machine, in RFC 2544's range, which nobody routes."""

from __future__ import annotations

import ipaddress

NETWORK = ipaddress.ip_network("198.18.0.0/24")
# Hosts behind senders, a /30 each.
ACCESS_NETWORK = ipaddress.ip_network("198.18.1.0/24")
# Report links, a /30 each; the only links that the root namespace sees.
REPORT_NETWORK = ipaddress.ip_network("198.18.255.0/24")
# Prefix length of these links and of every other point-to-point link.
LINK_PREFIX_LENGTH = 30
REPORT_UDP_PORT = 32766
