# SPDX-License-Identifier: Apache-2.0
"""Names and ports of a plan on BMv2. Pure.

    h1..hN ── path ── trunk ── BMv2 ── rx
                                └ reports, management

BMv2 delays nothing, so the path has the delays, and no rate. Its ports are numbered as those of
the embedded switch are; in the receiver's place it has the trunk.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...wiring import PREFIX, End
from ..embedded.layout import Layout
from ..senders import Host

# BMv2's port towards the senders.
TRUNK_PORT = 1


@dataclass(frozen=True)
class Bmv2Layout(Layout):
    @property
    def path_namespace(self) -> str:
        return f"{PREFIX}{self.run_id}-path"

    @property
    def management_interface(self) -> str:
        """The controller's end of the link; at most 15 characters."""
        return f"{PREFIX}{self.run_id}-mgm"

    def path_end(self, port: int) -> End:
        return End(self.path_namespace, f"p{port}")

    def host_end(self, host: Host) -> End:
        return self.path_end(self.host_port(host))

    @property
    def trunk_of_path(self) -> int:
        return self.out_port(0)

    def path_ports(self) -> list[str]:
        """Returns the `--port` arguments of the tidemark-switch that is the path."""
        delays_s = {self.host_port(h): self.plan.host_delay_s(h) for h in self.plan.hosts}
        delays_s[self.trunk_of_path] = self.plan.delay_s(0)
        return [
            f"{port}={self.path_end(port)},delay={round(1e6 * delay_s)}us,"
            f"queue={self.plan.queue_packets}p,gro=off"
            for port, delay_s in delays_s.items()
        ]

    def bmv2_interfaces(self) -> dict[int, str]:
        ports = (TRUNK_PORT, self.out_port(0), self.report_port(0))
        return {port: self.end(0, port).interface for port in ports}
