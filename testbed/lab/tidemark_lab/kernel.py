# SPDX-License-Identifier: Apache-2.0
"""Interface features and sysctls of the caller's network namespace."""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from pathlib import Path

from .errors import PreflightError

_SIOCETHTOOL = 0x8946
# The command that sets each feature, in an order that the kernel accepts: segmentation needs
# scatter-gather and checksums, so it is turned off first.
_OFFLOADS = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C, "sg": 0x19, "tx": 0x17, "rx": 0x15}

# Per-namespace sysctls: those of the hosts in the predecessor's experiments, set explicitly.
HOST_SYSCTLS = {
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_slow_start_after_idle": "0",
    "net.ipv4.tcp_rmem": "4096 131072 33554432",
    "net.ipv4.tcp_wmem": "4096 65536 33554432",
    # A new namespace inherits the machine's choice; flows set their own. Reno is the one that every
    # kernel allows as a namespace's default.
    "net.ipv4.tcp_congestion_control": "reno",
    "net.ipv4.tcp_mtu_probing": "0",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
}

# The kernel's default grants ECN (RFC 3168) but does not request it.
TCP_ECN = "net.ipv4.tcp_ecn"
NO_ECN = {TCP_ECN: "0"}
# Requests ECN again after a dropped request; by default a flow would go without.
ECN = {TCP_ECN: "1", "net.ipv4.tcp_ecn_fallback": "0"}

NO_IPV6 = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
}


def set_sysctls(values: dict[str, str]) -> None:
    """Sets sysctls. Raises OSError naming the key; a kernel without IPv6 needs no IPv6 keys."""
    for key, value in values.items():
        path = Path("/proc/sys") / key.replace(".", "/")
        if key.startswith("net.ipv6.") and not path.exists():
            continue
        try:
            path.write_text(value)
        except OSError as error:
            raise OSError(error.errno, f"sysctl {key}={value}: {error.strerror}") from error


def get_sysctl(key: str) -> str:
    path = Path("/proc/sys") / key.replace(".", "/")
    try:
        return path.read_text().strip()
    except OSError as error:
        raise PreflightError(f"cannot read {path}: {error.strerror}", "mount /proc") from error


def disable_offloads(interface: str) -> None:
    """Turns offloads off: every frame on the link is one packet of at most the MTU, with a real
    checksum."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, command in _OFFLOADS.items():
            off = array.array("B", struct.pack("=II", command, 0))
            request = struct.pack("16sP16x", interface.encode(), off.buffer_info()[0])
            try:
                fcntl.ioctl(control, _SIOCETHTOOL, request)
            except OSError as error:
                raise OSError(
                    error.errno, f"turn {name} off on {interface}: {error.strerror}"
                ) from error
