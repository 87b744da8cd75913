# SPDX-License-Identifier: Apache-2.0
"""The network alone. Needs root; leaves nothing."""

import json
import os
import signal
import subprocess
import sys
import time

import offloads
import pytest
from pyroute2 import IPRoute

from tidemark_lab import kernel, netns, preflight
from tidemark_lab.demo import variant
from tidemark_lab.demo.variant import Variant
from tidemark_lab.experiment import load
from tidemark_lab.experiment.embedded.layout import RECEIVER_ADDRESS, Layout
from tidemark_lab.experiment.embedded.network import build
from tidemark_lab.experiment.load import FILES
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.links import link_exists
from tidemark_lab.state import RunState
from tidemark_lab.wiring import HOST_INTERFACE

pytestmark = pytest.mark.root


def layout_of(run_id):
    document = variant.of(load.read(FILES / "demo.toml"), Variant(offloads=False))
    return Layout(Plan.of(load.check(document, "demo"), 1), run_id)


@pytest.fixture
def network(tmp_path):
    layout = layout_of(f"{os.getpid() % 0xFFFF:04x}")
    state = RunState.begin(layout.run_id, tmp_path)
    try:
        build(layout, state)
        yield layout
    finally:
        problems = state.clean()
    assert problems == []
    assert state.leftovers() == []
    assert not link_exists(layout.report_link(0).collector_interface)
    assert not any(layout.run_id in name for name in netns.names())


def namespaces(network):
    names = [network.namespace(h.name) for h in network.plan.hosts]
    return [*names, *(a.namespace for a in network.access.values()), network.receiver_namespace]


def test_hosts_are_like_real_ones(network):
    for namespace in namespaces(network):
        with netns.entered(namespace):
            assert not offloads.active(HOST_INTERFACE)
            assert kernel.get_sysctl("net.ipv4.tcp_no_metrics_save") == "1"
            assert kernel.get_sysctl(kernel.TCP_ECN) == "0"
            assert kernel.get_sysctl("net.ipv4.tcp_slow_start_after_idle") == "0"
        with IPRoute(netns=namespace) as ipr:
            (link,) = ipr.get_links(ifname=HOST_INTERFACE)
            assert link.get_attr("IFLA_GSO_MAX_SEGS") == 1
            assert link.get_attr("IFLA_MTU") == 1500
    with netns.entered(network.switch_namespace(0)):
        assert not offloads.active("p1")


def test_only_hosts_of_remotely_bottlenecked_flows_shape(network):
    shaped = {a.gateway_namespace for a in network.access.values()}
    assert shaped == {network.namespace("h2"), network.namespace("h4")}
    for host in network.plan.hosts:
        with IPRoute(netns=network.namespace(host.name)) as ipr:
            kinds = {q.get_attr("TCA_KIND") for q in ipr.get_qdiscs()}
        assert ("tbf" in kinds) == (network.namespace(host.name) in shaped)


def test_flows_from_behind_a_sender_are_shaped_and_its_own_are_not(network, tmp_path, binary):
    """Uses a bridge in the switch's place."""
    with IPRoute(netns=network.switch_namespace(0)) as ipr:
        ipr.link("add", ifname="br0", kind="bridge")
        bridge = ipr.link_lookup(ifname="br0")[0]
        for port in range(1, network.report_port(0)):
            index = ipr.link_lookup(ifname=network.end(0, port).interface)[0]
            ipr.link("set", index=index, master=bridge)
        ipr.link("set", index=bridge, state="up")
    sender = network.plan.hosts[1]
    (access,) = [
        a for a in network.access.values() if a.gateway_namespace == network.namespace(sender.name)
    ]

    def flow(name, kind, namespace, address):
        return {
            "name": name,
            "kind": kind,
            "netns": namespace,
            "source": f"{address}:0",
            "destination": f"{RECEIVER_ADDRESS}:5001",
        }

    spec = {
        "version": 1,
        "seed": 1,
        "duration_s": 2.0,
        "listeners": [
            {
                "name": "bulk",
                "netns": network.receiver_namespace,
                "address": f"{RECEIVER_ADDRESS}:5001",
            }
        ],
        "flows": [
            flow("shaped", "rbp", access.namespace, access.address),
            flow("free", "lbp", network.namespace(sender.name), network.address(sender)),
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
    shaped_bytes = access.shape.rate_bps / 8 * 2.0
    assert 0.5 * shaped_bytes < acked["shaped"] < 1.1 * shaped_bytes, acked
    assert acked["free"] > 5 * shaped_bytes, acked
    # The bottleneck must lose packets; otherwise its flow never reduces its rate.
    assert flows["shaped"]["retransmitted_segments"] > 0, flows["shaped"]


KILLED = """
import os, signal, sys
from pathlib import Path
from tidemark_lab.experiment import load
from tidemark_lab.experiment.embedded.layout import Layout
from tidemark_lab.experiment.embedded.network import build
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.processes import Supervisor
from tidemark_lab.state import RunState
experiment = load.check(load.read(load.FILES / "demo.toml"), "demo")
layout = Layout(Plan.of(experiment, 1), sys.argv[1])
state = RunState.begin(layout.run_id, Path(sys.argv[2]))
build(layout, state)
Supervisor(state, Path(sys.argv[2])).start("sleeper", ["sleep", "300"])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_leaves_is_removed_by_the_next(tmp_path):
    run_id = f"k{os.getpid() % 0xFFF:03x}"
    done = subprocess.run([sys.executable, "-c", KILLED, run_id, str(tmp_path)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert sum(run_id in name for name in netns.names()) == 8
    assert link_exists(f"tm-{run_id}-rep1")
    notes = preflight.clean_stale()
    assert any(run_id in note for note in notes), notes
    assert not any(run_id in name for name in netns.names())
    assert not link_exists(f"tm-{run_id}-rep1")


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
