# SPDX-License-Identifier: Apache-2.0
"""A network namespace without a name: it disappears with its last process, even if the
runner is killed, so there is nothing to clean up."""

import ctypes
import os
import signal
from pathlib import Path

from pyroute2 import IPRoute

from runner import SetupError

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def enter_new_namespace() -> None:
    """Moves this process (and processes it starts) into a network namespace of its own."""
    if os.geteuid() != 0:
        raise SetupError("needs root for a network namespace: run it with sudo")
    if _libc.unshare(CLONE_NEWNET) != 0:
        error = os.strerror(ctypes.get_errno())
        raise SetupError(f"cannot make a network namespace: {error} (needs CAP_SYS_ADMIN)")
    # IPv6 would send packets of its own on every link.
    for scope in ("default", "all"):
        switch = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if switch.exists():
            switch.write_text("1")


def make_links(ports: list[int]) -> None:
    """Makes one veth pair per port: `sw<n>` for the switch, `ptf<n>` for the tests."""
    with IPRoute() as ip:
        ip.link("set", index=ip.link_lookup(ifname="lo")[0], state="up")
        for port in ports:
            ip.link("add", kind="veth", ifname=f"sw{port}", peer={"ifname": f"ptf{port}"})
            for name in (f"sw{port}", f"ptf{port}"):
                ip.link("set", index=ip.link_lookup(ifname=name)[0], state="up")


def die_with_parent() -> None:
    """Runs as `preexec_fn`: a killed runner must not leave a switch behind."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
