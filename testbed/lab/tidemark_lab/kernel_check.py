# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel has what the lab needs: tried in a namespace that goes with a child."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Sequence

from pyroute2 import IPRoute

from . import kernel, netns
from .errors import PreflightError
from .json_types import JsonObject
from .wiring import shape

# Any slow link of a host: its kind is tried, not its numbers.
_SOURCE, _SHAPE = "198.18.1.2", (2_000_000, 3_100, 6_200)


def check(controls: Sequence[str]) -> None:
    """`controls`: congestion controls. Raises PreflightError."""
    problem = _in_child(lambda: _try_kernel(controls))
    if problem:
        raise PreflightError(problem["problem"], problem["remedy"])


def _try_kernel(controls: Sequence[str]) -> None:
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
            lambda: shape(ipr, index, _SOURCE, *_SHAPE),
        )
    for name in controls:
        _check_congestion_control(name)


def _check_congestion_control(name: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError as error:
            known = kernel.get_sysctl("net.ipv4.tcp_available_congestion_control")
            raise PreflightError(
                f"congestion control {name} is not available (available: {known})",
                f"load its module: modprobe tcp_{name}",
            ) from error


def _in_child(action: Callable[[], None]) -> JsonObject | None:
    """Runs `action` in a child process; returns its PreflightError as a dict."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answer = b""
        try:
            action()
        except PreflightError as error:
            answer = json.dumps({"problem": error.problem, "remedy": error.remedy}).encode()
        except BaseException as error:
            answer = json.dumps(
                {"problem": f"kernel check failed: {error!r}", "remedy": "please report this"}
            ).encode()
        os.write(writer, answer[:60_000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else None
