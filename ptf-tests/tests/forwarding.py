# SPDX-License-Identifier: GPL-2.0-only
"""Forwarding by MAC address, flooding, and frames that must stay unchanged."""

from scapy.compat import raw
from scapy.layers.inet import IP, TCP, IPOption_NOP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from tidemark_ptf import packets
from tidemark_ptf.base import HOST_PORTS, Tidemark
from tidemark_ptf.p4rt import DELETE, MODIFY


class Unicast(Tidemark):
    def runTest(self):
        for src in HOST_PORTS:
            for dst in HOST_PORTS:
                if src != dst:
                    packet = packets.tcp(src, dst, ident=16 * src + dst)
                    self.send(src, packet)
                    self.assert_frame(dst, packet)
        self.assert_silence()


class UnknownIsFloodedButNotBack(Tidemark):
    def runTest(self):
        for src in HOST_PORTS:
            packet = packets.tcp(src, 99, ident=src)
            self.send(src, packet)
            for port in HOST_PORTS:
                if port != src:
                    self.assert_frame(port, packet)
        self.assert_silence()


class BroadcastIsFlooded(Tidemark):
    def runTest(self):
        request = Ether(src=packets.mac(3), dst="ff:ff:ff:ff:ff:ff") / ARP(
            hwsrc=packets.mac(3), psrc=packets.address(3), pdst=packets.address(1)
        )
        self.send(3, request)
        for port in (1, 2, 4):
            self.assert_frame(port, request)
        self.assert_silence()


class EntriesMoveAndGo(Tidemark):
    def runTest(self):
        packet = packets.udp(1, 2)
        self.client.write(MODIFY, self.l2_entry(2, 4))
        self.send(1, packet)
        self.assert_frame(4, packet)
        self.client.write(DELETE, self.l2_entry(2, 4))
        self.send(1, packet)
        for port in (2, 3, 4):
            self.assert_frame(port, packet)
        self.assert_silence()


class ForeignProtocols(Tidemark):
    """Frames of any other protocol leave as they came."""

    def runTest(self):
        ether = Ether(src=packets.mac(1), dst=packets.mac(2))
        ip = IP(src=packets.address(1), dst=packets.address(2))
        wrong = packets.tcp(1, 2)
        wrong[IP].chksum ^= 0x5555
        wrong[TCP].chksum ^= 0x5555
        for name, packet in {
            "not IP": Ether(src=packets.mac(1), dst=packets.mac(2), type=0x88B5) / Raw(b"x" * 60),
            "ICMP": ether
            / IP(src=packets.address(1), dst=packets.address(2), proto=1)
            / (b"y" * 50),
            "later fragment": ether / IP(**ip.fields | {"frag": 100, "proto": 6}) / (b"z" * 50),
            "options": ether
            / IP(**ip.fields | {"options": [IPOption_NOP()] * 4})
            / TCP(sport=1, dport=2)
            / (b"o" * 40),
            "wrong checksums": wrong,
            "cut off inside TCP": Ether(raw(packets.tcp(1, 2, 60))[:40] + b""),
        }.items():
            with self.subTest(name):
                self.send(1, raw(packet))
                self.assert_frame(2, packet)
        self.assert_silence()


class LargestFrame(Tidemark):
    def runTest(self):
        packet = packets.tcp(1, 2, 1514)
        self.send(1, packet)
        self.assert_frame(2, packet)
        self.assert_silence()
