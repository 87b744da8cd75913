# SPDX-License-Identifier: Apache-2.0
"""What a run on BMv2 consists of: the same kinds of flow, slower. Pure.

BMv2 counts rates in packets per second and carries some thousands of packets a
second. The demo's 100 Mb/s are 8127 full packets a second, and each is reported,
which is a second pass through the egress pipeline. So the capacity is a tenth,
and the round-trip times are four times as long: windows of the bottlenecked
flows stay above ten packets, which their congestion control needs to be itself.
"""

from __future__ import annotations

from dataclasses import replace

from ..errors import PreflightError
from ..scenario import FRAME_BYTES, Scenario

# Checksum, preamble and gap, which a rate in bit/s includes.
OVERHEAD_BYTES = 24
WIRE_BITS = 8 * (FRAME_BYTES + OVERHEAD_BYTES)
PACKETS_PER_S = 1000
# Two busy cores carried 6500 and not 12 000; this leaves room for slower machines.
MOST_PACKETS_PER_S = 4000
# Slower, a run of half a minute has too few losses.
LEAST_PACKETS_PER_S = 200

_RTT_FACTOR = 4
# Half as many: a window has half as many packets to lose.
LBP_FLOWS = 6


def packets_per_s(capacity_bps: int) -> int:
    """Full packets; at least one."""
    return max(1, round(capacity_bps / WIRE_BITS))


def scenario(*, seed: int, ecn: bool, capacity_bps: int | None) -> Scenario:
    """Raises PreflightError where BMv2 does not carry the capacity."""
    rate = PACKETS_PER_S if capacity_bps is None else packets_per_s(capacity_bps)
    if not LEAST_PACKETS_PER_S <= rate <= MOST_PACKETS_PER_S:
        raise PreflightError(
            f"--capacity: BMv2 would have to send {rate} packets/s, and the lab lets it send "
            f"{LEAST_PACKETS_PER_S} to {MOST_PACKETS_PER_S}",
            f"choose {LEAST_PACKETS_PER_S * WIRE_BITS / 1e6:.1f}mbit to "
            f"{MOST_PACKETS_PER_S * WIRE_BITS / 1e6:.1f}mbit (default "
            f"{PACKETS_PER_S * WIRE_BITS / 1e6:.1f}mbit), or --switch embedded",
        )
    usual = Scenario()
    # What BMv2's rate really is: a whole number of packets.
    slower = rate * WIRE_BITS / usual.capacity_bps
    targets = dict(usual.targets)
    targets["delay_ms"] *= _RTT_FACTOR
    return replace(
        usual,
        seed=seed,
        ecn=ecn,
        capacity_bps=rate * WIRE_BITS,
        base_rtts_ms=tuple(_RTT_FACTOR * rtt for rtt in usual.base_rtts_ms),
        rbp_rate_bps=round(usual.rbp_rate_bps * slower),
        # Its packet capture reads one frame at a time, at most as long as the MTU allows,
        # and it forwards checksums as they are.
        lbp_flows=LBP_FLOWS,
        offloads=False,
        start_spread_s=2 * usual.start_spread_s,
        targets=targets,
    ).with_room()


def notes(capacity_bps: int) -> list[str]:
    """What differs from a run on the embedded switch, for its reader."""
    rate = packets_per_s(capacity_bps)
    return [
        f"BMv2 sends {rate} packets/s, large or small; {capacity_bps / 1e6:g} Mb/s if "
        f"each has {FRAME_BYTES} bytes: smaller ones make the utilisation look lower",
        "BMv2 delays nothing: a tidemark-switch between it and the senders is the long path",
        "hosts send whole packets only (no offloads), which BMv2 needs",
    ]
