# SPDX-License-Identifier: Apache-2.0
"""Offloads of an interface, as reported by the kernel."""

from pyroute2.ethtool.ioctl import IoctlEthtool

TSO = "tx-tcp-segmentation"
OFFLOADS = {
    TSO,
    "tx-generic-segmentation",
    "rx-gro",
    "tx-scatter-gather",
    "tx-checksum-ip-generic",
    "rx-checksum",
}


def active(interface):
    features = IoctlEthtool(interface).get_features()
    assert set(features.keys()) >= OFFLOADS
    return {name for name in OFFLOADS if features.is_active(name)}
