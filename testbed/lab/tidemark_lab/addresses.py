# SPDX-License-Identifier: Apache-2.0
"""Addresses and ports of every lab on this machine: of RFC 2544, which no network routes."""

from __future__ import annotations

import ipaddress

NETWORK = ipaddress.ip_network("198.18.0.0/24")
# Hosts behind senders, /30 each.
ACCESS_NETWORK = ipaddress.ip_network("198.18.1.0/24")
# Report links, /30 each: the root namespace sees no other link.
REPORT_NETWORK = ipaddress.ip_network("198.18.255.0/24")
# Of these and of every other link of two ends.
LINK_PREFIX_LENGTH = 30
REPORT_UDP_PORT = 32766
