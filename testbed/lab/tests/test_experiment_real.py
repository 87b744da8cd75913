# SPDX-License-Identifier: Apache-2.0
"""An experiment on real TCP, from its file to its rows. Needs root; leaves nothing."""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tomli_w
from experiment_files import TWO_SWITCHES, document
from offloads import TSO, active
from pyroute2 import IPRoute

from tidemark_lab import kernel, netns
from tidemark_lab.__main__ import main
from tidemark_lab.experiment import load, store
from tidemark_lab.experiment.embedded.layout import RECEIVER_ADDRESS, Layout
from tidemark_lab.experiment.embedded.network import build
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.links import link_exists
from tidemark_lab.state import RunState, recorded
from tidemark_lab.wiring import HOST_INTERFACE, PREFIX, End, connect, make_namespace, set_route

pytestmark = pytest.mark.root


def metric(namespace, name):
    """Returns a metric of the kernel's route to the receiver; None: the kernel's default."""
    with IPRoute(netns=namespace) as ipr:
        (route,) = ipr.route("get", dst=RECEIVER_ADDRESS)
    metrics = route.get_attr("RTA_METRICS")
    return metrics and metrics.get_attr(name)


def initial_window(namespace):
    return metric(namespace, "RTAX_INITCWND")


# Offset of tcpi_rto in struct tcp_info, microseconds.
TCPI_RTO = 8


@pytest.mark.parametrize("least_s", [None, 1.0])
def test_a_route_has_the_smallest_rto_of_its_flows(tmp_path, least_s):
    """Connects two namespaces with a round trip far below 200 ms."""
    state = RunState.begin(f"r{os.getpid() % 0xFFF:03x}", tmp_path)
    near, far = (f"{PREFIX}{state.run_id}-{name}" for name in ("near", "far"))
    try:
        for name in (near, far):
            make_namespace(state, name)
        with IPRoute(netns=near) as ipr:
            connect(ipr, HOST_INTERFACE, End(far, HOST_INTERFACE))
        for name, address in ((near, "10.99.0.1"), (far, "10.99.0.2")):
            with IPRoute(netns=name) as ipr:
                index = ipr.link_lookup(ifname=HOST_INTERFACE)[0]
                ipr.addr("add", index=index, address=address, prefixlen=24)
                ipr.link("set", index=index, state="up")
        set_route(near, "10.99.0.2", None, least_s)
        with netns.entered(far):
            listener = socket.create_server(("10.99.0.2", 5001))
        with netns.entered(near):
            sender = socket.create_connection(("10.99.0.2", 5001), timeout=5)
        with listener, sender, listener.accept()[0] as receiver:
            for _ in range(3):
                sender.sendall(b"x")
                assert receiver.recv(1) == b"x"
            info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        (rto_us,) = struct.unpack_from("I", info, TCPI_RTO)
        least_us = 1e6 * (least_s or 0.2)
        assert least_us <= rto_us < least_us + 150_000
    finally:
        assert state.clean() == [] and state.leftovers() == []


@pytest.mark.parametrize("offloads", [True, False])
def test_two_switches_and_flows_with_links_of_their_own(tmp_path, offloads):
    doc = document(TWO_SWITCHES, topology__offloads=offloads)
    doc["traffic"]["persistent"].append(
        {"name": "slow", "count": 3, "hosts": "near", "ecn": True, "remote": {"rate": "1mbit"}}
    )
    doc["traffic"]["persistent"][-1]["initial_window"] = 3
    doc["traffic"]["min_rto"] = "1s"
    layout = Layout(Plan.of(load.check(doc, "x"), 1), f"e{os.getpid() % 0xFFF:03x}")
    state = RunState.begin(layout.run_id, tmp_path)
    try:
        build(layout, state)
        assert len(state.namespaces) == 2 + 3 + 3 + 1
        ecn_host = next(h for h in layout.plan.hosts if h.ecn)
        for host, wanted in ((ecn_host, "1"), (layout.plan.hosts[0], "0")):
            with netns.entered(layout.namespace(host.name)):
                assert kernel.get_sysctl(kernel.TCP_ECN) == wanted
        for host in layout.plan.hosts:
            begins = initial_window(layout.namespace(host.name))
            assert begins == (3 if host is ecn_host else None)
            assert metric(layout.namespace(host.name), "RTAX_RTO_MIN") == 1000
        assert {initial_window(a.namespace) for a in layout.access.values()} == {3}
        assert {metric(a.namespace, "RTAX_RTO_MIN") for a in layout.access.values()} == {1000}
        assert all(link_exists(layout.report_link(k).collector_interface) for k in (0, 1))
        # The hosts, and the switches' ends of their links.
        names = [layout.namespace(h.name) for h in layout.plan.hosts]
        places = [(name, HOST_INTERFACE) for name in [*names, layout.receiver_namespace]]
        places += [(layout.switch_namespace(k), "p1") for k in layout.switches]
        for name, interface in places:
            with netns.entered(name):
                assert (TSO in active(interface)) is offloads, name
    finally:
        assert state.clean() == [] and state.leftovers() == []


def test_a_short_run_has_rows_that_say_what_came(tmp_path, binary):
    binary("tidemark-traffic")
    doc = document(
        topology__switches__0__rate="10mbit",
        run__warmup="3s",
        traffic__persistent__0__count=2,
        traffic__persistent__0__congestion_control="reno",
        traffic__datagrams=[{"name": "udp", "hosts": "near", "count": 2, "rate": "1mbit"}],
        phases=[
            {"name": "full", "limit": "1bdp", "settle": "1s", "duration": "6s"},
            {"name": "half", "limit": "0.5bdp", "settle": "2s", "duration": "6s"},
        ],
    )
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(doc))
    ports = ["--console-port", "18080", "--switch-port", "19559"]
    ports += ["--collector-port", "19560", "--metrics-port", "19561"]
    argv = ["run", str(file), "--out", str(tmp_path), *ports]
    assert main(argv) == 0
    (run_dir,) = store.find([tmp_path])
    record = json.loads((run_dir / "run.json").read_text())
    full, half = record["rows"]
    assert record["machine"]["kernel"] == os.uname().release
    assert record["offloads"] is True
    for row, limit in ((full, 37_500), (half, 18_750)):
        assert row["limit_bytes"] == limit and row["true_n_b"] == 2
        assert row["reports_lost"] == 0
        assert row["occupancy_max_bytes"] <= limit + 1514
        # A busy machine starves senders and switch, and the row says so.
        assert row["utilisation"] > 0.8 or not row["trusted"]
        assert row["arrivals"] > 3000 or not row["trusted"]
        assert row["trusted"] == (not row["why_not_trusted"])
        assert row["traffic_cpu"] < 0.5
    assert full["occupancy_max_bytes"] > 18_750
    udp = [f for f in json.loads((run_dir / "truth.json").read_text())["flows"] if "udp" in f]
    assert [f["udp"]["packets_refused"] for f in udp] == [0, 0]
    seen = json.loads((run_dir / "links" / "half-s1.json").read_text())["flows"]
    ports = {f["key"]["src_port"]: f for f in seen if f["key"]["protocol"] == 17}
    for flow in udp:
        sent = flow["udp"]["packets_sent"]
        lasted_s = (flow["stop"]["unix_ns"] - flow["start"]["unix_ns"]) / 1e9
        # Half of 1 Mb/s in packets of 1500 bytes: 42 per second.
        assert 0.7 < sent / (lasted_s * 5e5 / 12e3) < 1.3
        found = ports[int(flow["source"].rsplit(":", 1)[1])]
        assert found["class"] != "LBP"
        assert found["packets"] > 100 or not half["trusted"]
    # The run exists, so nothing runs again.
    assert main(argv) == 0
    assert main(["table", str(tmp_path)]) == 0
    assert (tmp_path / "table.parquet").exists()


def test_what_cannot_run_is_refused_before_anything_is_made(tmp_path, capsys):
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(document(topology__switches__0__delay="90ms")))
    assert main(["run", str(file), "--out", str(tmp_path)]) == 2
    assert "delay more than its round trip" in capsys.readouterr().err
    assert store.find([tmp_path]) == []


def test_a_killed_sweep_goes_on_and_leaves_nothing(tmp_path, binary):
    """SIGKILL in the middle of a run leaves its programs and namespaces behind."""
    binary("tidemark-traffic")
    doc = document(
        topology__switches__0__rate="10mbit",
        run__warmup="1s",
        traffic__persistent__0__spread="200ms",
        phases=[{"name": "one", "settle": "500ms", "duration": "2s"}],
        grid={"phases.one.limit": ["1bdp", "0.5bdp"]},
    )
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(doc))
    argv = [sys.executable, "-m", "tidemark_lab", "sweep", str(file), "--out", str(tmp_path)]
    argv += ["--console-port", "18080", "--switch-port", "19559"]
    argv += ["--collector-port", "19560", "--metrics-port", "19561"]
    root = tmp_path / "x"
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 90
        # Until the second run's traffic has started.
        while not (list(root.glob("x-*")) and list(root.glob(".part-*/traffic.json"))):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.05)
        process.kill()
        # Programs started by the killed sweep hold its pipe open.
        process.stderr.close()
    left = [s for _, s in recorded() if s and Path(s.run_dir).parent == root.resolve()]
    assert len(left) == 1 and set(left[0].namespaces) <= netns.names()
    done = subprocess.run(argv, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 of 2 runs exist already" in done.stderr
    assert len(store.find([root])) == 2 and not list(root.glob(".part-*"))
    assert not set(left[0].namespaces) & netns.names()
