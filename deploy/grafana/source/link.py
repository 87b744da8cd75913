# SPDX-License-Identifier: Apache-2.0
"""One link: whether it is within its targets, and which rule decides its buffer."""

from __future__ import annotations

from grafana_foundation_sdk.builders import timeseries
from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.builder import Builder

from .panels import (
    LINK,
    NAME,
    answer,
    board,
    console,
    expr,
    filled,
    graph,
    heat,
    label_values,
    limit_marks,
    named_numbers,
    quantile,
    single,
    source,
    with_names,
)

PREFIX = "tidemark_controller_"
OCCUPANCY = "tidemark_collector_link_occupancy_bytes"
DELAY = "tidemark_collector_link_delay_seconds"

# Title, unit, metric and description of single-value panels.
ADVICE = (
    ("Limit", "bytes", "limit_bytes", "The port's buffer limit in force."),
    ("Limit to set", "bytes", "advised_limit_bytes", "The limit in force where it serves."),
    ("Chance", "percentunit", "advised_limit_chance_ratio", "Each target is met there so likely."),
)
NOW = (
    ("Age of the newest report", "s", "report_age_seconds", "Above 5 s nothing below is live."),
    ("N_b", "none", "locally_bottlenecked_flows", "Flows bottlenecked at this link."),
    ("alpha", "none", "loss_burst_ratio", "Mean drops per loss event, per flow of N_b."),
    ("Delta", "none", "window_spread_ratio", "Spread of the flows' windows; 1 = all equal."),
    ("T_e", "s", "effective_rtt_seconds", "Harmonic mean of the flows' base RTTs."),
    ("Capacity", "Bps", "capacity_bytes_per_second", "In bytes; eight times as many bits."),
)


def of_link(title: str, unit: str, **legends: str) -> timeseries.Panel:
    """Plots metrics of the link, each with its legend."""
    lines = [expr(f"{PREFIX}{metric}{LINK}", legend) for metric, legend in legends.items()]
    return graph(title, unit, *lines)


def now() -> list[Builder]:
    """Shows the conclusion first, then its evidence."""
    verdict = expr(with_names(f"{PREFIX}buffer_verdict{LINK}"), NAME)
    of_verdict = "Whether the buffer is too big, too small, or fine for the link's targets."
    serve = single(
        "Limits that serve", "bytes", expr(f"{PREFIX}advised_limit_low_bytes{LINK}", "from")
    )
    serve = serve.with_target(expr(f"{PREFIX}advised_limit_high_bytes{LINK}", "to").ref_id("B"))
    values = [
        single(title, unit, expr(f"{PREFIX}{metric}{LINK}"), description)
        for title, unit, metric, description in (*ADVICE, *NOW)
    ]
    values.insert(2, serve.description("Every target is met there.").span(6))
    return [answer(single("Verdict", "none", verdict, of_verdict)).span(6), *values]


def of_histogram(title: str, unit: str, histogram: str, **limits: str) -> timeseries.Panel:
    """Plots quantiles over all packets of each interval, with limits."""
    shares = {"median": 0.5, "95 %": 0.95, "99 %": 0.99}
    lines = [expr(quantile(q, histogram, LINK), name) for name, q in shares.items()]
    lines += [expr(f"{PREFIX}{metric}{LINK}", legend) for metric, legend in limits.items()]
    return graph(title, unit, *lines)


def mean(histogram: str) -> str:
    """Returns the mean over all packets of each interval."""
    parts = (f"rate({histogram}_{part}{LINK}[$__rate_interval])" for part in ("sum", "count"))
    return " / ".join(f"sum by (node, port, queue) ({part})" for part in parts)


def build() -> Dashboard:
    about = "One link: the verdict on its buffer, its targets, and what decides its buffer."
    d = board("link", "Tidemark: link", about, console="#link=$node:$port:$queue")
    d = d.with_variable(source("prometheus", "prometheus"))
    info = f"{PREFIX}link_info"
    d = d.with_variable(named_numbers("node", info))
    d = d.with_variable(named_numbers("port", f'{info}{{node="$node"}}'))
    d = d.with_variable(label_values("queue", "queue", f'{info}{{node="$node",port="$port"}}'))
    d = d.with_variable(console()).annotation(limit_marks())
    changes = f"sum by (outcome) (increase({PREFIX}limit_changes_total[$__rate_interval]))"
    ready = f'{PREFIX}switch_ready{{node="$node"}}'
    n_b = {
        "locally_bottlenecked_flows": "N_b",
        "locally_bottlenecked_flows_low": "low",
        "locally_bottlenecked_flows_high": "high",
    }
    shares = {"loss_burst_ratio": "alpha", "locally_bottlenecked_share_ratio": "C_e/C"}
    of_packets = "Of reported packets, from the collector's histogram."
    rows = {
        "Now": now(),
        "Targets": [
            of_link(
                "Utilisation",
                "percentunit",
                utilisation_ratio="measured",
                target_utilisation_ratio="at least",
            ),
            of_link("Loss", "percentunit", loss_ratio="measured", target_loss_ratio="at most"),
            of_histogram("Queueing delay", "s", DELAY, target_delay_seconds="99 %: at most"),
            of_link(
                "Buffer",
                "bytes",
                limit_bytes="limit",
                advised_limit_bytes="to set",
                advised_limit_low_bytes="from",
                advised_limit_high_bytes="to",
            ),
        ],
        "Queue": [
            heat("Occupancy that arriving packets met", "bytes", OCCUPANCY, LINK, of_packets),
            heat("Queueing delay of packets that left", "s", DELAY, LINK, of_packets),
            of_histogram("Occupancy", "bytes", OCCUPANCY, limit_bytes="limit"),
            graph(
                "Mean delay",
                "s",
                expr(mean(DELAY), "of packets that left"),
                expr(
                    f"{mean(OCCUPANCY)} / on (node, port, queue)"
                    f" {PREFIX}capacity_bytes_per_second{LINK}",
                    "occupancy over capacity",
                ),
                description="Both agree where nothing but the queue delays packets.",
            ),
        ],
        "What decides the buffer": [
            of_link("N_b and its 90 % range", "none", **n_b),
            of_link(
                "Synchronisation alpha and locally bottlenecked share C_e/C",
                "percentunit",
                **shares,
            ),
            graph("Limit changes, all links", "none", expr(changes, "{{outcome}}")),
            graph(
                "Control",
                "none",
                expr(f"{PREFIX}auto_mode", "auto mode"),
                expr(ready, "switch ready"),
            ),
        ],
    }
    return filled(d, rows)
