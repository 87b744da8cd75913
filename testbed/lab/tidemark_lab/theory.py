# SPDX-License-Identifier: Apache-2.0
"""The papers' theory of a queue, drawn next to the measurements. Pure; sizes are packets.

UTB is Updating the Theory of Buffer Sizing (Spang, Arslan, McKeown 2021), BSCL is Buffer Sizing
for Congested Internet Links (Dhamdhere, Jiang, Dovrolis 2005).
"""

from __future__ import annotations

import math

# Factor applied to the window at a loss (UTB §3.5; CUBIC as in Linux).
BETA = {"reno": 0.5, "newreno": 0.5, "cubic": 717 / 1024, "scalable": 7 / 8}
# Fraction of a BDP that BBR drains after a loss while it probes for bandwidth (UTB §3.5).
BBR_DRAIN = 0.25


def least_queue(n: int, bdp: float, buffer: float, control: str | None = None) -> float | None:
    """Queue that seldom gets smaller: β·(BDP + B) - BDP for one flow, B - BDP/4 for BBR (UTB §3.5),
    B - BDP/√n for several (UTB Theorem 4, with a probability of 98 % for n → ∞). 0 if that is an
    empty queue, None if nothing is known."""
    if n < 1:
        return None
    if n > 1:
        return max(buffer - bdp / math.sqrt(n), 0.0)
    if control == "bbr":
        return max(buffer - BBR_DRAIN * bdp, 0.0)
    beta = BETA.get(control or "")
    return None if beta is None else max(beta * (bdp + buffer) - bdp, 0.0)


def most_with_loss(n: float, bdp: float) -> float:
    """Flows that lose in a round trip with a loss: √n + n²/(2·BDP) (UTB Theorem 5)."""
    return math.sqrt(n) + n * n / (2 * bdp)


# Constant of eq. 22 of BSCL: half a segment per round trip, with delayed acknowledgements.
SQRT_CONSTANT = 0.87


def loss_of_flows(n_b: float, c_te: float, buffer: float) -> float:
    """Loss rate of bottlenecked flows at a full buffer: (0.87·N_b / (B + C_e·T_e))² (BSCL eqs. 21,
    22), at most 1."""
    return min((SQRT_CONSTANT * n_b / (buffer + c_te)) ** 2, 1.0)
