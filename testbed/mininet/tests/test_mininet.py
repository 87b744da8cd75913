# SPDX-License-Identifier: Apache-2.0
"""Mininet and real TCP: needs root, Debian's package mininet and the built programs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mininet.net import Mininet
from mininet.topo import Topo
from tidemark_mininet import Tidemark, TidemarkHost, TidemarkLink, TidemarkSwitch

SEND = """
import socket, sys, time
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
s.connect((sys.argv[1], int(sys.argv[2])))
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    s.sendall(bytes(65536))
"""
RECEIVE = """
import socket, sys, threading
l = socket.create_server(("", int(sys.argv[1])), backlog=64)
def take(c):
    while c.recv(1 << 20):
        pass
while True:
    threading.Thread(target=take, args=(l.accept()[0],), daemon=True).start()
"""


class Dumbbell(Topo):
    """Three senders, two switches in a row, one receiver; the second switch is the bottleneck."""

    def build(self):
        s1, s2 = self.addSwitch("s1"), self.addSwitch("s2")
        for i, delay in enumerate(("5ms", "10ms", "15ms"), 1):
            self.addLink(self.addHost(f"h{i}"), s1, delay=delay)
        self.addLink(s1, s2, bw=50, max_queue_size=200)
        self.addLink(s2, self.addHost("h4"), bw=10, max_queue_size=30)


@contextmanager
def running():
    assert os.geteuid() == 0, "Mininet needs root"
    net = Mininet(
        topo=Dumbbell(), switch=TidemarkSwitch, host=TidemarkHost, link=TidemarkLink,
        controller=None, autoSetMacs=True,
    )  # fmt: skip
    tidemark = None
    try:
        net.start()
        tidemark = Tidemark(net, port=_free())
        tidemark.start()
        yield net, tidemark
    finally:
        if tidemark:
            tidemark.stop()
        net.stop()


@pytest.fixture
def network():
    with running() as network:
        yield network


def _free() -> int:
    """Returns a free port whose next port is also free, for the collector."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


def test_two_switches_six_flows(network):
    net, tidemark = network
    assert net.pingAll(timeout="2") == 0
    rtt = net.get("h2").cmd(f"ping -c 5 -i 0.2 {net.get('h4').IP()}")
    # Like Mininet's TCLink: 10 ms each way.
    least_ms = float(rtt.rsplit("=", 1)[1].split("/")[0])
    assert 20 <= least_ms < 25, rtt

    receiver = net.get("h4")
    programs = [receiver.popen([sys.executable, "-c", RECEIVE, "5001"])]
    time.sleep(0.5)
    for i in range(6):
        host = net.get(f"h{1 + i % 3}")
        programs.append(host.popen([sys.executable, "-c", SEND, receiver.IP(), "5001", "20"]))
    time.sleep(18)
    bottleneck = tidemark.link(net.get("s2"), receiver)
    trunk = tidemark.link(net.get("s1"), net.get("s2"))
    status = tidemark.get("/status")
    for process in programs:
        process.kill()
        process.wait()

    e = bottleneck["estimate"]
    assert e["estimates"]["n_b"]["value"] == pytest.approx(6, abs=1)
    assert e["utilisation"]["mean"] > 0.9
    assert e["drops"] > 0
    assert bottleneck["limit"]["limit_bytes"] == 30 * 1514
    assert bottleneck["reported_limit_bytes"] == 30 * 1514
    # Base RTTs 10, 20, 30 ms: harmonic mean 16.4 ms.
    assert e["estimates"]["t_e_ms"]["value"] == pytest.approx(16.4, rel=0.2)
    # These flows also pass the first switch, which does not limit them.
    assert trunk["estimate"]["estimates"]["n_b"]["value"] < 1
    assert trunk["estimate"]["drops"] == 0
    assert trunk["estimate"]["utilisation"]["mean"] == pytest.approx(0.2, abs=0.03)
    assert all(c["status"]["reports_lost"] == 0 for c in status["collectors"])


def test_links_are_checked():
    for wrong, word in (
        ({"delay": "5 furlongs"}, "delay"),
        ({"loss": 1}, "loss"),
        ({"bw": 0}, "bw"),
    ):
        net = Mininet(switch=TidemarkSwitch, host=TidemarkHost, link=TidemarkLink, controller=None)
        host, switch = net.addHost("h1"), net.addSwitch("s1")
        with pytest.raises(ValueError, match=word):
            net.addLink(host, switch, **wrong)
        net.stop()


def test_it_leaves_nothing_behind():
    with running() as (_, tidemark):
        directory = tidemark.directory
        assert directory.exists()
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout
    assert "tmr" not in links and "s1-eth" not in links
    assert not directory.exists()
    programs = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(directory) not in programs
