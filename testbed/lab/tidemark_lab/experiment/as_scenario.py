# SPDX-License-Identifier: Apache-2.0
"""The files that the demo, `steps` and `sweep` read: an experiment as the fields of a `Scenario`,
which has one switch and one host for each round trip."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from . import load
from .load import FILES, ExperimentError
from .model import Experiment
from .sizes import Exponential
from .traffic import OpenLoop, Persistent


@cache
def named(name: str) -> Experiment:
    """One of testbed/experiments."""
    return read(FILES / f"{name}.toml")


def read(path: Path) -> Experiment:
    return load.check(load.read(path), str(path))


def values(experiment: Experiment) -> dict[str, Any]:
    """Fields of a `Scenario`, by their names; those of flows that it has none of are left to their
    defaults, except that there are none."""
    where = f"experiment {experiment.name}"
    if len(experiment.topology.switches) != 1:
        raise ExperimentError(f"{where}: topology.switches: this command has one switch")
    traffic = experiment.traffic
    if traffic.closed_loop or traffic.datagrams or len(traffic.open_loop) > 1:
        raise ExperimentError(
            f"{where}: traffic: this command has persistent flows and one open-loop source"
        )
    hosts = [(h.name, rtt) for h in experiment.topology.hosts for rtt in h.rtts]
    names = [name for name, _ in hosts]
    targets = experiment.targets
    out: dict[str, Any] = {
        "base_rtts_ms": tuple(round(1e3 * rtt, 6) for _, rtt in hosts),
        "capacity_bps": round(experiment.topology.switches[0].rate),
        "offloads": experiment.topology.offloads,
        "rbp_senders": (),
        "wl_senders": (),
        "short_share": 0.0,
        "targets": {
            "utilisation": targets.utilisation,
            **({} if targets.loss is None else {"loss_rate": targets.loss}),
            **({} if targets.delay is None else {"delay_ms": 1e3 * targets.delay}),
        },
    }
    senders: list[Persistent | OpenLoop] = [*traffic.persistent, *traffic.open_loop]
    for sender in senders:
        _refuse_others(sender, where)
    seen: set[str] = set()
    for group in traffic.persistent:
        if group.kind in seen:
            raise ExperimentError(f"{where}: traffic: this command has one group of {group.kind}")
        seen.add(group.kind)
        out |= _persistent(group, names, where)
    if "lbp" not in seen:
        raise ExperimentError(f"{where}: traffic: no flows that the switch limits")
    for source in traffic.open_loop:
        out |= _open_loop(source, where)
    return out


# What a scenario has of a group.
TAKEN = {"name", "hosts", "kind", "count", "steps", "congestion_control", "spread"}
TAKEN |= {"remote", "window", "load", "size"}


def _refuse_others(group: Persistent | OpenLoop, where: str) -> None:
    """Raises ExperimentError where a group says what a scenario would leave out."""
    fields = type(group).model_fields
    said = (k for k in group.model_fields_set if getattr(group, k) != fields[k].default)
    if others := sorted(set(said) - TAKEN):
        raise ExperimentError(
            f"{where}: traffic {group.name}: {', '.join(others)}: this command does not have it: "
            "take `run`"
        )


def _persistent(group: Persistent, names: list[str], where: str) -> dict[str, Any]:
    if group.kind == "lbp":
        if [n for name in group.hosts for n in names if n == name] != names:
            raise ExperimentError(f"{where}: traffic {group.name}: hosts: all of them, in order")
        return {
            "lbp_flows": group.count or 0,
            "congestion_controls": tuple(group.congestion_control),
            "start_spread_s": group.spread,
        }
    passed = [i for name in group.hosts for i, n in enumerate(names) if n == name]
    senders = tuple(passed[i % len(passed)] for i in range(group.most))
    if group.remote is not None:
        return {
            "rbp_senders": senders,
            "rbp_rate_bps": round(group.remote.rate),
            "rbp_burst_bytes": group.remote.burst,
            "rbp_queue_bytes": group.remote.queue,
        }
    return {"wl_senders": senders, "wl_receive_buffer_bytes": group.window}


def _open_loop(source: OpenLoop, where: str) -> dict[str, Any]:
    if not isinstance(source.size, Exponential) or source.load is None:
        raise ExperimentError(
            f"{where}: traffic {source.name}: this command has a load of exponential sizes"
        )
    return {
        "short_share": source.load,
        "short_mean_bytes": source.size.mean,
        "short_max_bytes": source.size.largest,
    }
