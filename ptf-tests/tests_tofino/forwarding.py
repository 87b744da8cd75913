# SPDX-License-Identifier: GPL-2.0-only
"""Unicast and flooding; every frame leaves as it came."""

from tidemark_ptf import packets
from tidemark_ptf.base import HOST_PORTS
from tidemark_ptf.tofino import Tofino


class Unicast(Tofino):
    def runTest(self):
        for frame_bytes in (60, 64, 128, 512, 1514):
            for sent in (packets.tcp(1, 2, frame_bytes), packets.tagged(packets.udp(3, 4, 100))):
                source, to = (1, 2) if sent.type == 0x0800 else (3, 4)
                self.send(source, sent)
                self.assert_frame(to, sent)
        self.assert_silence()


class Flood(Tofino):
    """Floods to all ports but the one of arrival."""

    def runTest(self):
        sent = packets.tcp(2, 99, 200)
        self.send(2, sent)
        for port in HOST_PORTS:
            if port != 2:
                self.assert_frame(port, sent)
        self.assert_silence()
