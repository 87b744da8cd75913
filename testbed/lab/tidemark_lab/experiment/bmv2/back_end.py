# SPDX-License-Identifier: Apache-2.0
"""Runs a plan on real TCP through BMv2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...bmv2 import checks, command, preflight
from ...bmv2.management import NETWORK
from ...bmv2.rates import LEAST, MOST, WIRE_BITS, packets_per_s, refusal
from ...json_types import JsonObject
from ...preflight import check_addresses
from .. import describe
from ..backend import without_aqm
from ..embedded.back_end import Embedded
from ..embedded.session import PlanSession
from ..plan import Plan
from ..quantities import MTU
from .session import Bmv2PlanSession

# Relative difference allowed between the file's rate, which the rows have, and BMv2's setting.
MOST_RATE_ERROR = 0.001


@dataclass
class Bmv2(Embedded):
    """Real Linux TCP through one `simple_switch_grpc` in network namespaces; needs root."""

    name: str = "bmv2"

    def refuse(self, plan: Plan) -> list[str]:
        topology = plan.experiment.topology
        found = without_aqm(plan)
        if len(topology.switches) > 1:
            found.append(
                f"topology.switches: {len(topology.switches)} switches: one is carried out on "
                "BMv2: take embedded or ns3"
            )
        for number, switch in enumerate(topology.switches):
            rate = packets_per_s(round(switch.rate))
            if refused := refusal(rate):
                found.append(f"topology.switches[{number}].rate: {refused}: {LEAST} to {MOST}")
            elif abs(rate * WIRE_BITS / switch.rate - 1) > MOST_RATE_ERROR:
                found.append(
                    f"topology.switches[{number}].rate: BMv2 sends a whole number of packets a "
                    f"second: write {rate * WIRE_BITS / 1e3:g}kbit"
                )
        if any(s.scheduling != "fifo" for s in topology.switches):
            found.append("topology.switches: scheduling: BMv2 has fifo only: take embedded or ns3")
        if any(s.program for s in topology.switches):
            found.append("topology.switches: program: only embedded runs programs of others")
        if topology.mtu != MTU or any(h.mtu != MTU for h in plan.hosts):
            found.append(
                f"topology: mtu: is {MTU} on BMv2, which counts rates in packets: take embedded"
            )
        if topology.offloads:
            found.append("topology.offloads: BMv2 takes whole packets only: write offloads = false")
        return [*found, *super().refuse(plan)]

    def ready(self, out: Path) -> list[str]:
        preflight.check_program()
        notes = super().ready(out)
        # Only after former runs are cleaned up.
        check_addresses(NETWORK, "BMv2's management link")
        return notes

    def session(self, plan: Plan, run_dir: Path) -> PlanSession:
        return Bmv2PlanSession(plan, self.ports, self.paths, run_dir)

    def doubts(self, row: JsonObject) -> list[str]:
        """A BMv2 that gets too little CPU time holds packets before the queue."""
        acts_at = row["threshold_bytes"] or row["limit_bytes"]
        if row["action"] == "mark_ce":
            # A marking threshold does not bound the occupancy.
            acts_at = max(acts_at, row["occupancy_max_bytes"] or 0)
        waited_ms = row["delay_p99_ms"]
        most_ms = checks.most_delay_ms(acts_at, row["rate_bps"])
        if waited_ms is None or waited_ms <= most_ms:
            return []
        return [
            f"1 % of the packets waited {waited_ms:.1f} ms or more, a full queue explains "
            f"{most_ms:.1f}: BMv2 is slower than its rate"
        ]

    def versions(self) -> JsonObject:
        binary = command.find()
        return {} if binary is None else {"bmv2": describe.version(binary)}
