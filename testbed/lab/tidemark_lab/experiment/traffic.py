# SPDX-License-Identifier: Apache-2.0
"""Traffic of an experiment: persistent flows, open-loop and closed-loop transfers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from .quantities import Fraction, Rate, Seconds, Size, Strict
from .sizes import SizeDistribution

NAME = r"^[a-z][a-z0-9_-]{0,23}$"
CongestionControl = Literal[
    "reno",
    "newreno",
    "cubic",
    "bbr",
    "scalable",
    "highspeed",
    "random_reno",
    "htcp",
    "dctcp",
    "vegas",
    "westwood",
    "yeah",
    "illinois",
    "hybla",
    "veno",
    "ledbat",
]


def one_or_more(value: Any) -> Any:
    """Turns a single text into a list."""
    return [value] if isinstance(value, str) else value


Controls = Annotated[
    list[CongestionControl],
    BeforeValidator(
        one_or_more, json_schema_input_type=CongestionControl | list[CongestionControl]
    ),
]
Names = Annotated[list[str], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])]


class Remote(Strict):
    """A slow link for each flow, behind its host, that limits it in place of the switches."""

    rate: Rate = Field(description="rate of the link")
    queue: Size = Field(default=6_200, description="size of its queue")
    burst: Size = Field(default=3_100, description="size of its token bucket (embedded)")


class Step(Strict):
    """A new number of flows from a time on: more start, or the last ones stop."""

    at: Seconds = Field(description="time after the start of the traffic")
    count: int = Field(ge=0, le=2000, description="number of flows from then on")


# quinn's congestion controls, by the lab's names.
QUIC_CONTROLS = ("cubic", "bbr", "newreno")


def _check_quic(
    transport: str, controls: list[CongestionControl], ecn: bool, initial_window: int | None
) -> None:
    if transport != "quic":
        return
    if unknown := [c for c in controls if c not in QUIC_CONTROLS]:
        known = ", ".join(QUIC_CONTROLS)
        raise ValueError(f"congestion_control: QUIC has no {unknown[0]} here; it has {known}")
    if ecn:
        raise ValueError("ecn: QUIC asks for ECN in any case: leave it out")
    if initial_window is not None:
        raise ValueError("initial_window: QUIC has its own, 10 packets: leave it out")


class Senders(Strict):
    """Keys of every group but datagrams."""

    name: str = Field(pattern=NAME, description="name of the group; flows are NAME-1, NAME-2, ...")
    hosts: Names = Field(min_length=1, description="groups of sending hosts, taken in turn")
    transport: Literal["tcp", "quic"] = Field(
        default="tcp",
        description="TCP of the kernel, or QUIC by quinn with a connection for each flow: "
        "`cubic`, `bbr` or `newreno`, always with ECN (not ns3)",
    )
    ecn: bool = Field(default=False, description="asks for ECN (RFC 3168); TCP only")
    initial_window: int | None = Field(
        default=None,
        ge=1,
        le=100,
        description="initial window in packets; default: 10, as in Linux (not remote, not QUIC)",
    )


class Persistent(Senders):
    """Flows that always have data."""

    count: int | None = Field(default=None, ge=0, le=2000, description="flows; or `steps`")
    steps: list[Step] | None = Field(default=None, min_length=1, description="changes of `count`")
    congestion_control: Controls = Field(
        default=["cubic"],
        min_length=1,
        description="one, or several in turn over flows and hosts; `newreno`, `scalable`, "
        "`highspeed`, `vegas`, `dctcp`, `random_reno` (not ns3) need no module",
    )
    window: Size | None = Field(
        default=None, description="receive buffer, at least `2048B`: makes the flows window-limited"
    )
    remote: Remote | None = Field(default=None, description="bottleneck elsewhere")
    bottleneck: str | None = Field(
        default=None, description="switch that limits the flows; needed if they pass several"
    )
    start: Seconds = Field(default=0.0, description="start of the first flow")
    spread: Seconds = Field(default=2.0, description="time in which all flows start")
    stop: Seconds | None = Field(default=None, description="end; default: that of the run")

    @model_validator(mode="after")
    def _consistent(self) -> Persistent:
        _check_quic(self.transport, self.congestion_control, self.ecn, self.initial_window)
        if self.transport == "quic" and self.window is not None:
            raise ValueError("window: is a receive buffer of TCP: QUIC flows have none here")
        if (self.count is None) == (self.steps is None):
            raise ValueError("give either count or steps")
        if self.steps and [s.at for s in self.steps] != sorted({s.at for s in self.steps}):
            raise ValueError("steps must be ordered by time")
        if self.window is not None and self.window < 2048:
            raise ValueError("window: at least 2048B, the kernel's smallest")
        if self.window is not None and self.remote is not None:
            raise ValueError("window and remote exclude each other: one of them limits a flow")
        if self.bottleneck is not None and (self.window or self.remote):
            raise ValueError("bottleneck: window or remote limits these flows, no switch does")
        if self.stop is not None and self.stop <= self.start + self.spread:
            raise ValueError("stop is not after the start of the last flow")
        return self

    @property
    def kind(self) -> str:
        """Class at the switch that limits the flows; at other switches `lbp` flows are `rbp`."""
        if self.window is not None:
            return "wl"
        return "rbp" if self.remote is not None else "lbp"

    @property
    def most(self) -> int:
        return self.count or 0 if self.steps is None else max(s.count for s in self.steps)


class OpenLoop(Senders):
    """Transfers in a Poisson process that ignores the network."""

    congestion_control: CongestionControl = Field(default="cubic", description="for all transfers")
    arrivals_per_s: float | None = Field(
        default=None, gt=0, le=10_000, description="transfers per second; or `load`"
    )
    load: Fraction | None = Field(
        default=None, description="offered load relative to the rate of the path's first switch"
    )
    size: SizeDistribution = Field(description="distribution of sizes")
    start: Seconds = Field(default=0.0, description="start of the process")
    stop: Seconds | None = Field(default=None, description="end; default: that of the run")

    @model_validator(mode="after")
    def _consistent(self) -> OpenLoop:
        _check_quic(self.transport, [self.congestion_control], self.ecn, self.initial_window)
        if (self.arrivals_per_s is None) == (self.load is None):
            raise ValueError("give either arrivals_per_s or load")
        if self.load == 0:
            raise ValueError("load: above 0")
        if self.stop is not None and self.stop <= self.start:
            raise ValueError("stop is not after start")
        return self


class ClosedLoop(Senders):
    """Users who wait for a transfer to end, think, and start the next."""

    congestion_control: CongestionControl = Field(default="cubic", description="for all transfers")
    users: int = Field(ge=1, le=2000, description="number of users")
    think: Seconds = Field(description="mean of the exponential time between transfers")
    size: SizeDistribution = Field(description="distribution of sizes")
    start: Seconds = Field(default=0.0, description="start; users think first")
    stop: Seconds | None = Field(default=None, description="of new transfers; default: the end")

    @model_validator(mode="after")
    def _consistent(self) -> ClosedLoop:
        _check_quic(self.transport, [self.congestion_control], self.ecn, self.initial_window)
        if self.think <= 0:
            raise ValueError("think: above 0")
        if self.stop is not None and self.stop <= self.start:
            raise ValueError("stop is not after start")
        return self


class Datagrams(Strict):
    """UDP flows of Poisson packets that do not react to loss (not remote)."""

    name: str = Field(pattern=NAME, description="name of the group; flows are NAME-1, NAME-2, ...")
    hosts: Names = Field(min_length=1, description="groups of sending hosts, taken in turn")
    count: int = Field(ge=1, le=2000, description="number of flows")
    rate: Rate = Field(description="total rate, with IP headers")
    packet: Size = Field(default=1500, ge=29, le=1500, description="size of an IP packet")
    start: Seconds = Field(default=0.0, description="start of all flows")
    stop: Seconds | None = Field(default=None, description="end; default: that of the run")

    @model_validator(mode="after")
    def _consistent(self) -> Datagrams:
        if self.stop is not None and self.stop <= self.start:
            raise ValueError("stop is not after start")
        return self


Group = Persistent | OpenLoop | ClosedLoop | Datagrams


class Traffic(Strict):
    """At least one group of flows."""

    persistent: list[Persistent] = Field(default=[], description="flows without an end")
    open_loop: list[OpenLoop] = Field(default=[], description="transfers in a Poisson process")
    closed_loop: list[ClosedLoop] = Field(default=[], description="transfers of thinking users")
    datagrams: list[Datagrams] = Field(default=[], description="UDP flows of Poisson packets")
    min_rto: Seconds | None = Field(
        default=None,
        ge=0.2,
        le=60,
        description="smallest retransmission timeout; default: 200 ms, Linux's; not remote",
    )

    @model_validator(mode="after")
    def _some(self) -> Traffic:
        groups: list[Group] = [
            *self.persistent,
            *self.open_loop,
            *self.closed_loop,
            *self.datagrams,
        ]
        if not groups:
            raise ValueError(
                "there is no traffic: give persistent, open_loop, closed_loop or datagrams"
            )
        names = [g.name for g in groups]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"the name {twice[0]} is used twice")
        return self
