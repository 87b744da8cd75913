# SPDX-License-Identifier: Apache-2.0
"""Checks whether the kernel has what the lab needs, in a namespace that ends with its thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pyroute2 import IPRoute

from . import kernel, netns
from .errors import PreflightError
from .wiring import Shape, shape

# An arbitrary slow link of a host: only its kind matters.
_SOURCE, _SHAPE = "198.18.1.2", Shape(2_000_000, 3_100, 6_200)


def check() -> None:
    """Tries everything that the lab needs. Raises PreflightError."""
    with ThreadPoolExecutor(1) as alone:
        alone.submit(_try_kernel).result()


def _try_kernel() -> None:
    def attempt(what: str, remedy: str, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:
            raise PreflightError(f"{what}: {error}", remedy) from error

    attempt(
        "network namespaces cannot be made",
        "use a kernel with CONFIG_NET_NS and, in a container, run it privileged",
        netns.unshare,
    )
    with IPRoute() as ipr:
        attempt(
            "veth interfaces cannot be made",
            "load the module: modprobe veth",
            lambda: ipr.link("add", ifname="a", kind="veth", peer={"ifname": "b"}),
        )
        attempt(
            "the sysctls of a namespace cannot be set",
            "mount /proc/sys writable (in a container: run it privileged)",
            lambda: kernel.set_sysctls(kernel.NO_IPV6 | kernel.HOST_SYSCTLS),
        )
        attempt(
            "offloads cannot be turned off",
            "use a kernel whose veth has ethtool features",
            lambda: kernel.disable_offloads("a"),
        )
        index = ipr.link_lookup(ifname="a")[0]
        attempt(
            "the qdiscs htb and tbf and the filter u32 cannot be used",
            "load their modules: modprobe -a sch_htb sch_tbf cls_u32",
            lambda: shape(ipr, index, _SOURCE, _SHAPE),
        )
