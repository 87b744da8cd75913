# SPDX-License-Identifier: Apache-2.0
"""What a run of the demo is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..experiment import as_scenario
from ..preflight import Ports
from ..scenario import Scenario
from ..switches import EMBEDDED, Switch


@dataclass(frozen=True)
class Times:
    """Of a run; what is not given on the command line is testbed/experiments/demo.toml's."""

    # Of each phase.
    seconds: float
    warmup_s: float
    # After the advice was applied.
    settle_s: float


def planned() -> Times:
    experiment = as_scenario.named("demo")
    first, second = experiment.phases
    return Times(first.duration, experiment.run.warmup, second.settle)


@dataclass
class Options:
    seconds: float = field(default_factory=lambda: planned().seconds)
    warmup_s: float = field(default_factory=lambda: planned().warmup_s)
    settle_s: float = field(default_factory=lambda: planned().settle_s)
    keep: bool = False
    report: bool = True
    out: Path = Path("runs")
    ports: Ports = field(default_factory=Ports)
    scenario: Scenario = field(default_factory=Scenario)
    switch: Switch = EMBEDDED
