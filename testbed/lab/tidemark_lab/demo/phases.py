# SPDX-License-Identifier: Apache-2.0
"""The two phases of the demo, and the advice applied between them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..api import ApiError
from ..errors import LabError
from ..json_types import JsonObject
from ..limits import in_words
from ..machine import CpuTime
from ..progress import Progress, bar
from ..session import Session
from .options import Options

PHASES = ("first", "second")


@dataclass(frozen=True)
class PhaseSpan:
    """When a phase was, in Unix time, and how much of the CPU was not the run's."""

    start_ns: int
    end_ns: int
    stolen_cpu_fraction: float


@dataclass
class Measured:
    """What the two phases gave."""

    phases: list[JsonObject]
    spans: list[PhaseSpan]
    advice: list[JsonObject | None]
    read_back_bytes: int | None


def watch(session: Session, progress: Progress, label: str, seconds: float) -> None:
    """Lets time pass, shows what the controller sees, notices dead programs."""
    start = time.monotonic()
    while (elapsed := time.monotonic() - start) < seconds:
        session.supervisor.check()
        head = f"{label:<12} {bar(elapsed, seconds)} {elapsed:4.0f}/{seconds:.0f} s"
        progress.show(head + _live(session))
        time.sleep(min(0.5, max(0.0, seconds - (time.monotonic() - start))))


def _live(session: Session) -> str:
    try:
        link = session.link()
        recent = link["recent"]
        estimates = link["estimate"]["estimates"]
        return (
            f"  utilisation {100 * recent['utilisation']:5.1f} %"
            f"  loss {100 * recent['loss_rate']:6.3f} %"
            f"  delay p99 {recent['delay_ms']['p99']:5.1f} ms"
            f"  N_b {estimates['n_b']['value']:.0f}"
        )
    except (ApiError, KeyError, TypeError):
        return ""


def measure(session: Session, options: Options, progress: Progress) -> Measured:
    first, first_span = _phase(session, options, progress, PHASES[0])
    applied = _apply_advice(session, progress)
    read_back = session.limit_bytes()
    watch(session, progress, "settling", options.settle_s)
    second, second_span = _phase(session, options, progress, PHASES[1])
    return Measured(
        phases=[first, second],
        spans=[first_span, second_span],
        advice=[applied, second["links"][0].get("advice")],
        read_back_bytes=read_back,
    )


def _phase(
    session: Session, options: Options, progress: Progress, name: str
) -> tuple[JsonObject, PhaseSpan]:
    start, cpu = time.time_ns(), CpuTime.now()
    session.controller.post("/phases", {"name": name, "action": "start"})
    watch(session, progress, f"phase {name}", options.seconds)
    end, stolen = time.time_ns(), cpu.stolen_fraction_until(CpuTime.now())
    session.controller.post("/phases", {"name": name, "action": "end"})
    phase = session.complete_phase(name)
    if not phase["links"]:
        raise LabError(f"phase {name}: the controller saw no link; see {session.run_dir}/logs")
    return phase, PhaseSpan(start, end, stolen)


def _apply_advice(session: Session, progress: Progress) -> JsonObject:
    """Targets, advice, apply, read back: all by the controller's REST interface."""
    scenario = session.scenario
    place = {"node": scenario.node_id, "port": scenario.bottleneck_port}
    session.controller.post("/targets", {**place, **scenario.targets})
    query = f"/advice?node={place['node']}&port={place['port']}"
    why_not = "no advice yet"

    def applicable() -> bool:
        nonlocal why_not
        answer = session.controller.get(query)
        why_not = answer.get("why_not") or why_not
        return bool(answer["can_apply"])

    try:
        session.supervisor.wait_until(applicable, "advice that can be applied", 15)
    except LabError as error:
        raise LabError(f"{error}: {why_not}") from error
    answer = session.controller.post("/advice/apply", place)
    advice = answer["advice"]
    progress.say(
        f"advice: limit {in_words(scenario.limit)} -> {in_words(answer['limit'])} "
        f"({advice['rule']}), read back from the switch"
    )
    return advice
