# SPDX-License-Identifier: GPL-2.0-only
"""Random frames: well formed, truncated, or damaged."""

import random

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether

# Ethertypes that the program with all entities marks and punts.
MARK, PUNT = 0x88B5, 0x88B6
MARK_BYTES = 11


def mac(host: int) -> str:
    return f"02:00:00:00:00:{host:02x}"


def payload(r: random.Random) -> bytes:
    return r.randbytes(r.choice([0, 1, 7, 40, 200, 1000]))


def internet(r: random.Random) -> bytes:
    """Returns a frame that is well formed, or was so before damage."""
    to = r.choice([mac(1), mac(2), mac(3), "ff:ff:ff:ff:ff:ff", "02:00:00:00:00:77"])
    p = Ether(src=mac(r.randint(1, 3)), dst=to)
    if r.random() < 0.2:
        p /= Dot1Q(vlan=r.randint(0, 4095), prio=r.randint(0, 7))
    kind = r.random()
    tos = r.randint(0, 255)
    if kind < 0.6:
        ip = IP(
            src=f"10.0.0.{r.randint(1, 3)}",
            dst=f"10.0.0.{r.randint(1, 3)}",
            tos=tos,
            id=r.randint(0, 65535),
            ttl=r.randint(0, 255),
        )
        if r.random() < 0.15:
            ip.options = [IPOption(b"\x01" * 4 * r.randint(1, 10))]
        if r.random() < 0.15:
            ip.flags, ip.frag = r.choice([(1, 0), (1, 100), (0, 185)])
        p /= ip
    elif kind < 0.9:
        p /= IPv6(
            src=f"fd00::{r.randint(1, 3)}",
            dst=f"fd00::{r.randint(1, 3)}",
            tc=tos,
            fl=r.getrandbits(20),
            hlim=r.randint(0, 255),
        )
    else:
        p = p / ARP() if r.random() < 0.5 else p
        return bytes(p / payload(r))
    ports = {"sport": r.randint(0, 65535), "dport": r.choice([80, 32766, r.randint(0, 65535)])}
    transport = r.random()
    if transport < 0.5:
        p /= TCP(seq=r.getrandbits(32), ack=r.getrandbits(32), flags=r.randint(0, 255), **ports)
    elif transport < 0.9:
        p /= UDP(**ports)
    else:
        p /= ICMP()
    return bytes(p / payload(r))


def damaged(r: random.Random, f: bytes) -> bytes:
    """Returns the frame truncated, or with bytes changed after the addresses."""
    if r.random() < 0.5:
        return f[: r.randint(14, len(f))]
    out = bytearray(f)
    for _ in range(r.randint(1, 4)):
        out[r.randrange(12, min(len(out), 80))] = r.randrange(256)
    return bytes(out)


def marked(r: random.Random) -> bytes:
    """Returns a frame for the program with all entities."""
    to = r.choice([1, 1, 2, 2, 2, 3, 3, 0x77])
    kind = r.choice([MARK] * 8 + [PUNT, 0x0800, 0x88B9])
    # Some sources are known to the program; the others are spread, so that hashes differ.
    source = 0x020000001000 | r.randrange(4)
    if r.random() < 0.8:
        source = 0x020000000000 | (r.randrange(256) * 0x9E3779B1) & 0xFFFFFFFF
    body = r.randbytes(MARK_BYTES) if kind == MARK else b""
    address = bytes.fromhex(mac(to).replace(":", ""))
    return address + source.to_bytes(6, "big") + kind.to_bytes(2, "big") + body + payload(r)
