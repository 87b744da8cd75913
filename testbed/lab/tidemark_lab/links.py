# SPDX-License-Identifier: Apache-2.0
"""Interfaces of the root namespace."""

from __future__ import annotations

import ipaddress
import socket

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError


def link_exists(name: str) -> bool:
    try:
        socket.if_nametoindex(name)
    except OSError:
        return False
    return True


def delete_link(name: str) -> None:
    """Deletes an interface and its peer; ignores one that is gone already."""
    if not link_exists(name):
        return
    with IPRoute() as ipr:
        try:
            ipr.link("del", ifname=name)
        except NetlinkError as error:
            if error.code != 19:  # ENODEV: went in between
                raise


def addresses_within(network: str) -> list[tuple[str, str]]:
    """Returns (interface, address) pairs of this namespace within a network."""
    wanted = ipaddress.ip_network(network)
    found = []
    with IPRoute() as ipr:
        for message in ipr.get_addr(family=socket.AF_INET):
            address = message.get_attr("IFA_LOCAL") or message.get_attr("IFA_ADDRESS")
            if address and ipaddress.ip_address(address) in wanted:
                found.append((message.get_attr("IFA_LABEL") or str(message["index"]), address))
    return found
