# SPDX-License-Identifier: Apache-2.0
"""A running lab: hosts with ssh servers, a switch, a controller. Network namespaces stand for
machines; the session under test does not know about them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tomli_w
from pyroute2 import IPRoute

from tidemark_lab import netns
from tidemark_lab.experiment import load
from tidemark_lab.experiment.embedded.layout import RECEIVER_ADDRESS, Layout
from tidemark_lab.experiment.embedded.session import PlanSession
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.preflight import Paths, Ports

PORTS = Ports(console=18080, switch=19559, collector=19560, metrics=19561)
SSHD = "/usr/sbin/sshd"
# Network between this machine and the hosts, separate from the network under test.
NETWORK = "198.18.250"


@dataclass(frozen=True)
class Standing:
    """`table`: the table `remote` of an experiment that uses it."""

    lab: PlanSession
    layout: Layout
    table: dict


@contextmanager
def standing(document: dict, tmp_path: Path, controller_there: bool = True) -> Iterator[Standing]:
    """Starts the lab; without `controller_there` it only writes the controller's configuration."""
    plan = Plan.of(load.check(document, "x"), 1)
    there = tmp_path / "there"
    there.mkdir()
    lab = PlanSession(plan, PORTS, Paths.find(), there)
    layout = lab.layout
    try:
        lab.start_network()
        lab.start_switches()
        keys = make_keys(there)
        names = [*(h.name for h in plan.hosts), "rx"]
        for number, name in enumerate(names):
            start_sshd(lab, layout.namespace(name), number, keys)
        controller = lab.controller_document()
        if controller_there:
            lab.start_controller()
            lab.supervisor.wait_until(lambda: lab.limit_bytes(0), "the switch's limit", 30)
        else:
            (there / "controller.toml").write_text(tomli_w.dumps(controller))
        yield Standing(lab, layout, table(layout, keys, there, controller))
    finally:
        assert lab.clean() == []


def make_keys(there: Path) -> Path:
    """Makes keys for the user and the hosts, deleted with the test."""
    for name in ("user", "host"):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", there / name]
        subprocess.run(argv, check=True)
    shutil.copy(there / "user.pub", there / "authorized")
    key = " ".join((there / "host.pub").read_text().split()[:2])
    (there / "known").write_text(f"{NETWORK}.* {key}\n")
    return there


def start_sshd(lab: PlanSession, namespace: str, number: int, keys: Path) -> None:
    assert Path(SSHD).exists(), "sshd is missing: install openssh-server (make test-lab does)"
    interface = f"tmssh{number}"
    here, there = addresses(number)
    lab.state.add_interface(interface)
    with IPRoute() as ipr:
        ipr.link(
            "add",
            ifname=interface,
            kind="veth",
            peer={"ifname": "manage", "net_ns_fd": namespace},
        )
        index = ipr.link_lookup(ifname=interface)[0]
        ipr.addr("add", index=index, address=here, prefixlen=30)
        ipr.link("set", index=index, state="up")
    with IPRoute(netns=namespace) as ipr:
        index = ipr.link_lookup(ifname="manage")[0]
        ipr.addr("add", index=index, address=there, prefixlen=30)
        ipr.link("set", index=index, state="up")
    config = keys / f"sshd-{number}.conf"
    config.write_text(
        f"ListenAddress {there}\nHostKey {keys}/host\nAuthorizedKeysFile {keys}/authorized\n"
        "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
        "PermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    argv = [SSHD, "-D", "-e", "-f", config]
    child = lab.supervisor.start(f"sshd-{number}", argv, namespace=namespace)
    lab.supervisor.wait_for_line(child, "Server listening")


def addresses(number: int) -> tuple[str, str]:
    return f"{NETWORK}.{4 * number + 1}", f"{NETWORK}.{4 * number + 2}"


def table(layout: Layout, keys: Path, there: Path, controller: dict) -> dict:
    def machine(number: int, address: str) -> dict:
        return {
            "destination": f"root@{addresses(number)[1]}",
            "identity_file": f"{keys}/user",
            "options": [f"UserKnownHostsFile={keys}/known", "StrictHostKeyChecking=yes"],
            "address": address,
        }

    hosts = layout.plan.hosts
    link = layout.report_link(0)
    return {
        "senders": [
            {**machine(k, layout.address(h)), "hosts": h.group, "rtt": f"{round(1e3 * h.rtt_s)}ms"}
            for k, h in enumerate(hosts)
        ],
        "receiver": machine(len(hosts), RECEIVER_ADDRESS),
        "switches": [
            {
                "name": layout.plan.experiment.topology.switches[0].name,
                "node": layout.node(0),
                "port": layout.out_port(0),
                "node_settings": {"exporters": [link.switch_address]},
            }
        ],
        "collector": {
            "listen": [f"{link.collector_address}:32766"],
            "grpc": f"127.0.0.1:{PORTS.collector}",
            "http": f"127.0.0.1:{PORTS.metrics}",
            "agents_port": 29560,
        },
        "controller": {
            "url": f"http://{controller['http']['listen']}",
            "token_file": str(there / "controller.token"),
        },
        "directory": str(there),
    }


def processes_of(namespace: str) -> list[str]:
    """Returns the command lines of processes in a namespace."""
    inode = (netns.DIRECTORY / namespace).stat().st_ino
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "ns/net").stat().st_ino == inode:
                found.append((process / "cmdline").read_text().replace("\0", " ").strip())
        except OSError:
            continue
    return found
