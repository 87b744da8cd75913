# SPDX-License-Identifier: Apache-2.0
"""The network itself. Needs root; leaves nothing."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from pyroute2 import IPRoute

from tidemark_lab import kernel, netns, preflight
from tidemark_lab.links import link_exists
from tidemark_lab.scenario import Scenario
from tidemark_lab.state import RunState
from tidemark_lab.topology import HOST_INTERFACE, Topology

pytestmark = pytest.mark.root


@pytest.fixture
def network(tmp_path):
    topology = Topology(Scenario(offloads=False), f"{os.getpid() % 0xFFFF:04x}")
    state = RunState.begin(topology.run_id, tmp_path)
    try:
        topology.build(state)
        yield topology
    finally:
        problems = state.clean()
    assert problems == []
    assert state.leftovers() == []
    assert not link_exists(topology.report_interface)
    assert not any(topology.run_id in name for name in netns.names())


def test_hosts_are_like_real_ones(network):
    for namespace in network.namespace_of.values():
        with netns.entered(namespace):
            assert not any(kernel.offloads(HOST_INTERFACE).values())
            assert kernel.get_sysctl("net.ipv4.tcp_no_metrics_save") == "1"
            assert kernel.get_sysctl(kernel.TCP_ECN) == "0"
            assert kernel.get_sysctl("net.ipv4.tcp_slow_start_after_idle") == "0"
        with IPRoute(netns=namespace) as ipr:
            (link,) = ipr.get_links(ifname=HOST_INTERFACE)
            assert link.get_attr("IFLA_GSO_MAX_SEGS") == 1
            assert link.get_attr("IFLA_MTU") == 1500
    with netns.entered(network.switch_namespace):
        assert not any(kernel.offloads("p1").values())


def test_only_hosts_of_remotely_bottlenecked_flows_shape(network):
    for index, host in enumerate(network.scenario.senders):
        with IPRoute(netns=network.namespace_of[host.name]) as ipr:
            kinds = {q.get_attr("TCA_KIND") for q in ipr.get_qdiscs()}
        assert ("tbf" in kinds) == (index in network.scenario.rbp_senders)


def test_flows_from_behind_a_sender_are_shaped_and_its_own_are_not(network, tmp_path, binary):
    """Over a bridge in the switch's place."""
    with IPRoute(netns=network.switch_namespace) as ipr:
        ipr.link("add", ifname="br0", kind="bridge")
        bridge = ipr.link_lookup(ifname="br0")[0]
        for host in network.scenario.hosts:
            port = ipr.link_lookup(ifname=network.switch_interface(host.port))[0]
            ipr.link("set", index=port, master=bridge)
        ipr.link("set", index=bridge, state="up")
    sender, receiver = network.scenario.senders[1], network.scenario.receiver
    (access,) = [a for a in network.scenario.access_hosts if a.gateway == sender]

    def flow(name, kind, host):
        return {
            "name": name,
            "kind": kind,
            "netns": network.namespace_of[host.name],
            "source": f"{host.address}:0",
            "destination": f"{receiver.address}:5001",
        }

    spec = {
        "version": 1,
        "seed": 1,
        "duration_s": 2.0,
        "listeners": [
            {
                "name": "bulk",
                "netns": network.namespace_of[receiver.name],
                "address": f"{receiver.address}:5001",
            }
        ],
        "flows": [
            flow("shaped", "rbp", access),
            flow("free", "lbp", sender),
        ],
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    truth = tmp_path / "truth.json"
    subprocess.run(
        [
            binary("tidemark-traffic"),
            "run",
            "--spec",
            tmp_path / "spec.json",
            "--truth",
            truth,
        ],
        check=True,
        timeout=60,
    )
    flows = {f["name"]: f["tcp"] for f in json.loads(truth.read_text())["flows"]}
    acked = {name: tcp["bytes_acked"] for name, tcp in flows.items()}
    shaped_bytes = network.scenario.rbp_rate_bps / 8 * 2.0
    assert 0.5 * shaped_bytes < acked["shaped"] < 1.1 * shaped_bytes, acked
    assert acked["free"] > 5 * shaped_bytes, acked
    # The bottleneck must lose packets, else its flow never reduces its rate.
    assert flows["shaped"]["retransmitted_segments"] > 0, flows["shaped"]


KILLED = """
import os, signal, sys
from pathlib import Path
from tidemark_lab.processes import Supervisor
from tidemark_lab.scenario import Scenario
from tidemark_lab.state import RunState
from tidemark_lab.topology import Topology
topology = Topology(Scenario(), sys.argv[1])
state = RunState.begin(topology.run_id, Path(sys.argv[2]))
topology.build(state)
Supervisor(state, Path(sys.argv[2])).start("sleeper", ["sleep", "300"])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_leaves_is_removed_by_the_next(tmp_path):
    run_id = f"k{os.getpid() % 0xFFF:03x}"
    done = subprocess.run([sys.executable, "-c", KILLED, run_id, str(tmp_path)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert sum(run_id in name for name in netns.names()) == 8
    assert link_exists(f"tm-{run_id}-rep")
    notes = preflight.clean_stale()
    assert any(run_id in note for note in notes), notes
    assert not any(run_id in name for name in netns.names())
    assert not link_exists(f"tm-{run_id}-rep")


def test_children_end_with_a_killed_lab(tmp_path):
    run_id = f"d{os.getpid() % 0xFFF:03x}"
    subprocess.run([sys.executable, "-c", KILLED, run_id, str(tmp_path)], timeout=60)
    (state,) = [s for _, s in _recorded() if s and s.run_id == run_id]
    deadline = time.monotonic() + 10
    while any("process" in left for left in state.leftovers()):
        assert time.monotonic() < deadline, state.leftovers()
        time.sleep(0.02)
    assert state.clean() == []


def _recorded():
    from tidemark_lab.state import recorded

    return recorded()
