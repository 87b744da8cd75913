# SPDX-License-Identifier: Apache-2.0
"""BMv2's sending rates, which are in packets per second. Pure."""

from __future__ import annotations

from ..experiment.quantities import FRAME_BYTES, WIRE_BYTES

WIRE_BITS = 8 * (FRAME_BYTES + WIRE_BYTES)
PACKETS_PER_S = 1000
# Two busy cores managed 6500 but not 12 000; this leaves room for slower machines.
MOST_PACKETS_PER_S = 4000
# At a lower rate, a run of half a minute has too few losses.
LEAST_PACKETS_PER_S = 200


def packets_per_s(capacity_bps: int) -> int:
    """Returns the capacity in full-size packets per second; at least one."""
    return max(1, round(capacity_bps / WIRE_BITS))


def mbit(packets_per_second: int) -> str:
    return f"{packets_per_second * WIRE_BITS / 1e6:.1f}mbit"


def refusal(rate: int) -> str | None:
    """Returns why the lab does not let BMv2 send at this rate; None if it does."""
    if LEAST_PACKETS_PER_S <= rate <= MOST_PACKETS_PER_S:
        return None
    return (
        f"BMv2 would have to send {rate} packets/s, and the lab lets it send "
        f"{LEAST_PACKETS_PER_S} to {MOST_PACKETS_PER_S}"
    )


LEAST, MOST = mbit(LEAST_PACKETS_PER_S), mbit(MOST_PACKETS_PER_S)


def notes(capacity_bps: int) -> list[str]:
    """Returns notes for the user on how the run differs from one on the embedded switch."""
    rate = packets_per_s(capacity_bps)
    return [
        f"BMv2 sends {rate} packets/s, large or small; {capacity_bps / 1e6:g} Mb/s if "
        f"each has {FRAME_BYTES} bytes: smaller ones make the utilisation look lower",
        "BMv2 delays nothing: a tidemark-switch between it and the senders is the long path",
        "hosts send whole packets only (no offloads), which BMv2 needs",
    ]
