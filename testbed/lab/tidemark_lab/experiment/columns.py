# SPDX-License-Identifier: Apache-2.0
"""Columns of the table of runs, with their units: source of the Parquet schema, the CSV's column
order, and the reference page."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """A column; `kind` is text, integer, number or flag."""

    name: str
    kind: str
    about: str


def _interval(name: str, about: str) -> list[Column]:
    names = (name, f"{name}_low", f"{name}_high")
    return [Column(n, "number", f"estimated {about}") for n in names]


def _spread(name: str, unit: str, about: str) -> list[Column]:
    kinds = ("mean", "p50", "p99", "max")
    return [Column(f"{name}_{k}_{unit}", "number", about) for k in kinds]


COLUMNS: tuple[Column, ...] = (
    Column("experiment", "text", "name of the experiment"),
    Column("run", "text", "directory of the run"),
    Column("back_end", "text", "back end"),
    Column("repetition", "integer", "from 0"),
    Column("seed", "integer", "seed of all random numbers"),
    Column("phase", "text", "name of the phase"),
    Column("switch", "text", "name of the switch"),
    Column("seconds", "number", "measured time, s"),
    Column("rate_bps", "number", "rate of the port, bit/s"),
    Column("bdp_bytes", "number", "C·T̄ of the flows that the switch limits, bytes"),
    Column("action", "text", "drop_tail or mark_ce"),
    Column("aqm", "text", "queue management; null: limits alone"),
    Column("limit_bytes", "number", "limit at the start of the phase, bytes"),
    Column("threshold_bytes", "number", "marking threshold, bytes; null with drop_tail"),
    Column("true_n_b", "integer", "flows bottlenecked here, but for 1 % of the time at either end"),
    Column("true_t_e_ms", "number", "harmonic mean of their base round trips, ms"),
    Column("true_rbp", "integer", "persistent flows with a bottleneck elsewhere"),
    Column("true_wl", "integer", "window-limited flows"),
    Column("true_short", "integer", "transfers seen at any time"),
    Column("utilisation", "number", "share of the port's rate"),
    Column("loss_rate", "number", "drops over arrivals"),
    Column("marked_rate", "number", "CE marks over arrivals"),
    *(Column(n, "integer", "number of packets") for n in ("arrivals", "drops", "ce_marked")),
    *_spread("delay", "ms", "queueing delay, ms"),
    *_spread("occupancy", "bytes", "occupancy met by arriving packets, bytes"),
    *_interval("n_b", "flows bottlenecked here"),
    *_interval("t_e_ms", "T_e in ms"),
    *_interval("alpha", "mean loss burst over N_b"),
    *_interval("delta", "spread of windows"),
    *_interval("c_e_share", "share of the rate that the flows bottlenecked here get"),
    *_interval("mean_loss_burst", "mean loss burst in packets"),
    *_interval("d_mean", "mean number of flows with a drop in a round trip"),
    Column("d_max", "number", "largest number of flows with a drop in a round trip"),
    Column("regime", "text", "estimated regime: transparent, elastic, overload"),
    Column("jain", "number", "fairness of the flows bottlenecked here, 1/n to 1"),
    Column("classes_right", "integer", "persistent flows with their right class at this switch"),
    Column("classes_wrong", "text", "the others, as name true>estimated"),
    Column("transfers", "integer", "transfers that began and ended in the phase"),
    Column("completion_p50_ms", "number", "completion time of these transfers, ms"),
    Column("completion_p95_ms", "number", "completion time of these transfers, ms"),
    Column("advised_bytes", "number", "limit advised from the capture, bytes; null with aqm"),
    Column("rule", "text", "rule that decided the advice"),
    Column("live_n_b", "number", "live estimate at the end of the phase (not ns3)"),
    Column("live_limit_bytes", "number", "limit at the end of the phase, bytes (not ns3)"),
    Column("reports_lost", "integer", "reports lost in the phase"),
    Column("late_p99_ms", "number", "lateness of reports against their own time, ms"),
    Column("late_max_ms", "number", "lateness of reports against their own time, ms"),
    Column("stolen_cpu", "number", "share of CPU time that the hypervisor gave to others"),
    Column("traffic_cpu", "number", "share of one core that the senders' program used"),
    Column("switch_cpu", "number", "share of one core that the busiest thread of a switch used"),
    Column("load_average", "number", "load average of the machine at the end of the phase"),
    Column("trusted", "flag", "false if the machine was too slow for this row"),
    Column("why_not_trusted", "text", "the slow part"),
    Column("offloads", "flag", "hosts send super-frames; null on ns3 and remote"),
    Column("kernel", "text", "kernel release"),
    Column("commit", "text", "commit of the repository; + with uncommitted changes"),
    Column("started", "text", "local time, ISO 8601"),
)

_TYPES = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "flag": pa.bool_()}
# Prefix of the text columns, at the end, for the parameters of a grid.
SETTING = "set."


def schema(settings: list[str]) -> pa.Schema:
    """Returns the schema, with a text column for each parameter of a grid."""
    fields = [pa.field(c.name, _TYPES[c.kind]) for c in COLUMNS]
    return pa.schema([*fields, *(pa.field(f"{SETTING}{s}", pa.string()) for s in settings)])
