# SPDX-License-Identifier: Apache-2.0
"""The traffics that advice is iterated on."""

from __future__ import annotations

from dataclasses import dataclass, field

from .network import BSCL_RTTS_S, PACKET_BYTES, Network


@dataclass(frozen=True)
class SimulatedTraffic:
    """A network with a name, where it starts, and what is wanted of it."""

    name: str
    about: str
    network: Network
    # None: C·T̄.
    start_packets: int | None = None
    targets: dict[str, float] = field(
        default_factory=lambda: {"utilisation": 0.98, "loss_rate": 0.01}
    )

    @property
    def first_limit_bytes(self) -> int:
        packets = self.start_packets
        if packets is None:
            bytes_per_s = self.network.capacity_bps / 8
            packets = round(bytes_per_s * self.network.mean_rtt_s / PACKET_BYTES)
        return packets * PACKET_BYTES


def _bscl(cc: str, flows: int) -> Network:
    """BSCL §VII: C_e about 0.9 C, the rest remotely bottlenecked, window-limited and short."""
    return Network(lbp={cc: flows}, other_cc=cc, rbp=20, wl=10, short_share=0.02)


def _targets(utilisation: float, loss_rate: float, delay_ms: float) -> dict[str, float]:
    return {"utilisation": utilisation, "loss_rate": loss_rate, "delay_ms": delay_ms}


FEW_RTTS_S = (0.02, 0.04, 0.07, 0.1)

TRAFFICS = (
    SimulatedTraffic("reno60", "BSCL's set-up, 60 Reno flows", _bscl("LinuxReno", 60), 904),
    SimulatedTraffic("cubic100", "BSCL's set-up, 100 CUBIC flows", _bscl("Cubic", 100), 904),
    SimulatedTraffic(
        "cubic20",
        "20 CUBIC flows of 20 to 100 ms, delay bounded",
        Network(lbp={"Cubic": 20}, other_cc="Cubic", rtts_s=FEW_RTTS_S, short_share=0.02),
        targets=_targets(0.98, 0.01, 60.0),
    ),
    SimulatedTraffic(
        "ecn30",
        "30 Reno flows with ECN; the limit is a threshold of marks",
        Network(
            lbp={"LinuxReno": 30},
            rtts_s=FEW_RTTS_S,
            ecn=True,
            rbp=10,
            rbp_bps=200e3,
            wl=10,
            short_share=0.02,
        ),
        60,
        _targets(0.98, 0.02, 80.0),
    ),
    SimulatedTraffic(
        "bbr_mix",
        "3 BBR, 6 Reno and 6 CUBIC flows at 20 Mb/s",
        Network(
            capacity_bps=20e6,
            lbp={"Bbr": 3, "LinuxReno": 6, "Cubic": 6},
            other_cc="Cubic",
            rtts_s=(0.04, 0.06, 0.08),
            rbp=4,
            rbp_bps=300e3,
            wl=4,
            short_share=0.02,
        ),
        targets=_targets(0.98, 0.02, 100.0),
    ),
    SimulatedTraffic(
        "open_loop",
        "no bottlenecked flow: Poisson datagrams and short flows, load 0.5",
        Network(rtts_s=(0.02, 0.05, 0.1), other_cc="Cubic", short_share=0.25, udp_share=0.25),
        60,
        _targets(0.45, 0.001, 30.0),
    ),
    SimulatedTraffic(
        "medium",
        "10 Reno flows beside a third of the load in heavy-tailed flows of 120 packets",
        Network(
            lbp={"LinuxReno": 10},
            rtts_s=(0.02, 0.05, 0.1, 0.2),
            rbp=4,
            rbp_bps=500e3,
            wl=4,
            wl_bps=500e3,
            short_share=0.32,
            short_mean_packets=120,
            heavy_tailed=True,
        ),
        targets=_targets(0.97, 0.02, 150.0),
    ),
    SimulatedTraffic(
        "elastic2",
        "two Reno flows of 100 ms above 25 Mb/s of Poisson datagrams (NGI §IV)",
        Network(lbp={"LinuxReno": 2}, rtts_s=(0.1,), udp_share=0.5),
        100,
        _targets(0.9, 0.001, 100.0),
    ),
    SimulatedTraffic(
        "reno1",
        "one Reno flow of 20 ms",
        Network(lbp={"LinuxReno": 1}, rtts_s=(0.02,)),
        targets=_targets(0.98, 0.01, 30.0),
    ),
    SimulatedTraffic(
        "mixed60",
        "30 Reno and 30 CUBIC flows of 20 to 530 ms",
        Network(
            lbp={"LinuxReno": 30, "Cubic": 30},
            other_cc="Cubic",
            rtts_s=BSCL_RTTS_S,
            rbp=20,
            wl=10,
            short_share=0.02,
        ),
        904,
        _targets(0.98, 0.02, 300.0),
    ),
)
