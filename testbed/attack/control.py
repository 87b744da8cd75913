# SPDX-License-Identifier: Apache-2.0
"""C: what the controller does when its telemetry dies."""

from __future__ import annotations

import time

from programs import Lab, claim
from reports import honest
from telemetry import warm


def silent_switch(scale: float) -> str:
    """C3: the switch, or its mirror session, is dead while the collector lives."""
    with Lab() as lab, honest(lab.udp) as switch:
        warm(lab, switch)
        time.sleep(12.0)
        link = lab.link()
        claim(link["stale"], f"silent for 12 s, and not stale: age {link['age_s']:.2f} s")
        claim(link["age_s"] > 8.0, f"silent for 12 s: age {link['age_s']:.2f} s")
        return f"silent for 12 s: age {link['age_s']:.1f} s, stale"
