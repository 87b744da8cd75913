# SPDX-License-Identifier: Apache-2.0
"""The columns of the table of runs, with their units. From here come the Parquet schema, the
CSV's order, and the reference page."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """`kind`: text, integer, number, flag."""

    name: str
    kind: str
    about: str


def _interval(name: str, about: str) -> list[Column]:
    return [
        Column(name, "number", about),
        Column(f"{name}_low", "number", "lower end of its 90 % range"),
        Column(f"{name}_high", "number", "upper end of its 90 % range"),
    ]


COLUMNS: tuple[Column, ...] = (
    Column("experiment", "text", "name of the experiment"),
    Column("run", "text", "name of the run's directory"),
    Column("back_end", "text", "what it ran on"),
    Column("repetition", "integer", "from 0"),
    Column("seed", "integer", "of all that is random"),
    Column("phase", "text", "name of the phase"),
    Column("switch", "text", "name of the switch whose port this is"),
    Column("seconds", "number", "measured, s"),
    Column("rate_bps", "number", "of the port, bit/s"),
    Column("bdp_bytes", "number", "C·T̄ of the flows that the switch limits, bytes"),
    Column("action", "text", "drop_tail or mark_ce"),
    Column("aqm", "text", "queue management, as the switch was told; null: limits alone"),
    Column("limit_bytes", "number", "limit in force when the phase began, bytes"),
    Column("threshold_bytes", "number", "marking threshold in force, bytes; null where it drops"),
    Column("true_n_b", "integer", "flows bottlenecked here all the time, save 1 % at either end"),
    Column("true_t_e_ms", "number", "harmonic mean of their base round trips, ms"),
    Column("true_rbp", "integer", "persistent flows here that are bottlenecked elsewhere"),
    Column("true_wl", "integer", "window-limited flows"),
    Column("true_short", "integer", "transfers that were there at some time"),
    Column("utilisation", "number", "of the port's rate, 0 to 1"),
    Column("loss_rate", "number", "drops over arrivals"),
    Column("marked_rate", "number", "CE marks over arrivals"),
    Column("arrivals", "integer", "packets"),
    Column("drops", "integer", "packets"),
    Column("ce_marked", "integer", "packets"),
    Column("delay_mean_ms", "number", "queueing delay, ms"),
    Column("delay_p50_ms", "number", "its median, ms"),
    Column("delay_p99_ms", "number", "its 99th percentile, ms"),
    Column("delay_max_ms", "number", "its maximum, ms"),
    Column("occupancy_mean_bytes", "number", "met by arriving packets, bytes"),
    Column("occupancy_p50_bytes", "number", "its median, bytes"),
    Column("occupancy_p99_bytes", "number", "its 99th percentile, bytes"),
    Column("occupancy_max_bytes", "number", "its maximum, bytes"),
    *_interval("n_b", "estimated flows bottlenecked here"),
    *_interval("t_e_ms", "estimated T_e, ms"),
    *_interval("alpha", "estimated mean loss burst over N_b"),
    *_interval("delta", "estimated spread of windows"),
    *_interval("c_e_share", "estimated share of the rate of the flows bottlenecked here"),
    *_interval("mean_loss_burst", "estimated mean loss burst, packets"),
    *_interval("d_mean", "estimated flows with a drop in a round trip, mean"),
    Column("d_max", "number", "the same, largest"),
    Column("regime", "text", "as estimated: transparent, elastic, overload"),
    Column("jain", "number", "fairness of the flows bottlenecked here, 1/n to 1"),
    Column("classes_right", "integer", "persistent flows whose class at this switch is right"),
    Column("classes_wrong", "text", "the others: name true>estimated"),
    Column("transfers", "integer", "transfers that began and ended in the phase"),
    Column("completion_p50_ms", "number", "their completion time, median, ms"),
    Column("completion_p95_ms", "number", "their completion time, 95th percentile, ms"),
    Column("advised_bytes", "number", "limit that the capture leads to, bytes; null with aqm"),
    Column("rule", "text", "rule that decided it"),
    Column("live_n_b", "number", "what the controller showed as the phase ended (not ns3)"),
    Column("live_limit_bytes", "number", "limit as the phase ended, bytes (not ns3)"),
    Column("reports_lost", "integer", "in the phase"),
    Column("late_p99_ms", "number", "lateness of reports against their own time, p99, ms"),
    Column("late_max_ms", "number", "the same, largest, ms"),
    Column("stolen_cpu", "number", "share of the CPU time that the hypervisor gave to others"),
    Column("traffic_cpu", "number", "of one core, used by the senders' program"),
    Column("switch_cpu", "number", "of one core, used by the busiest thread of a switch"),
    Column("load_average", "number", "of the machine, as the phase ended"),
    Column("trusted", "flag", "false where the machine was too slow for this row"),
    Column("why_not_trusted", "text", "what was"),
    Column(
        "offloads",
        "flag",
        "hosts send super-frames; null where there are none (ns3) or not known (remote)",
    ),
    Column("kernel", "text", "release of the kernel"),
    Column("commit", "text", "of the repository; + where it had changes"),
    Column("started", "text", "local time, ISO 8601"),
)

_TYPES = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "flag": pa.bool_()}
# The parameters of the grid come as columns of text after these.
SETTING = "set."


def schema(settings: list[str]) -> pa.Schema:
    """With a column of text for each parameter of a grid."""
    fields = [pa.field(c.name, _TYPES[c.kind]) for c in COLUMNS]
    return pa.schema([*fields, *(pa.field(f"{SETTING}{s}", pa.string()) for s in settings)])
