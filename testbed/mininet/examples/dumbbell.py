#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Four senders, one receiver, a 20 Mb/s bottleneck; prints Tidemark's view, then Mininet's CLI.

sudo PYTHONPATH=testbed/mininet /usr/bin/python3 testbed/mininet/examples/dumbbell.py [--no-cli]
"""

from __future__ import annotations

import sys
import time

from mininet.cli import CLI
from mininet.net import Mininet
from mininet.topo import Topo
from tidemark_mininet import Tidemark, TidemarkHost, TidemarkLink, TidemarkSwitch

SECONDS = 20
SEND = (
    "import socket, time; s = socket.create_connection(('{ip}', 5001)); "
    "end = time.monotonic() + {seconds}\n"
    "while time.monotonic() < end: s.sendall(bytes(65536))"
)
RECEIVE = (
    "import socket, threading; l = socket.create_server(('', 5001))\n"
    "def take(c):\n while c.recv(1 << 20): pass\n"
    "while True: threading.Thread(target=take, args=(l.accept()[0],), daemon=True).start()"
)


class Dumbbell(Topo):
    def build(self):
        switch = self.addSwitch("s1")
        for i in range(1, 5):
            self.addLink(self.addHost(f"h{i}"), switch, delay=f"{5 * i}ms")
        self.addLink(switch, self.addHost("h5"), bw=20, max_queue_size=100)


def main() -> None:
    net = Mininet(
        topo=Dumbbell(), switch=TidemarkSwitch, host=TidemarkHost, link=TidemarkLink,
        controller=None, autoSetMacs=True,
    )  # fmt: skip
    net.start()
    tidemark = Tidemark(net)
    programs = []
    try:
        tidemark.start()
        print(f"console: {tidemark.url}")
        receiver = net.get("h5")
        programs.append(receiver.popen([sys.executable, "-c", RECEIVE]))
        time.sleep(0.5)
        for i in range(1, 5):
            code = SEND.format(ip=receiver.IP(), seconds=SECONDS + 5)
            programs.append(net.get(f"h{i}").popen([sys.executable, "-c", code]))
        for _ in range(SECONDS // 5):
            time.sleep(5)
            link = tidemark.link(net.get("s1"), receiver)
            if estimate := link["estimate"]:
                print(
                    f"N_b {estimate['estimates']['n_b']['value']:.1f}, "
                    f"utilisation {estimate['utilisation']['mean']:.3f}, "
                    f"loss {estimate['loss_rate']:.2%}, "
                    f"limit {link['reported_limit_bytes']} bytes, "
                    f"advised {(link['advice'] or {}).get('limit_bytes')}"
                )
        if "--no-cli" not in sys.argv:
            CLI(net)
    finally:
        for program in programs:
            program.kill()
        tidemark.stop()
        net.stop()


if __name__ == "__main__":
    main()
