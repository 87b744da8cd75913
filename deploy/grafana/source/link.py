# SPDX-License-Identifier: Apache-2.0
"""One link: is it within its targets, and what decides its buffer."""

from __future__ import annotations

from grafana_foundation_sdk.builders import timeseries
from grafana_foundation_sdk.builders.dashboard import Dashboard

from .panels import board, expr, filled, graph, label_values, single, source

PREFIX = "tidemark_controller_"
LINK = '{node="$node",port="$port"}'

# Title, unit, metric and description of single values.
NOW = (
    ("Age of the newest report", "s", "report_age_seconds", "Above 5 s nothing below is live."),
    ("N_b", "none", "locally_bottlenecked_flows", "Flows bottlenecked at this link."),
    ("alpha", "none", "loss_burst_ratio", "Mean drops per loss event, per flow of N_b."),
    ("Delta", "none", "window_spread_ratio", "Spread of the flows' windows; 1 = all equal."),
    ("T_e", "s", "effective_rtt_seconds", "Harmonic mean of the flows' base RTTs."),
    ("Limit", "bytes", "limit_bytes", "The port's buffer limit in force."),
)


def of_link(title: str, unit: str, **legends: str) -> timeseries.Panel:
    """Metrics of the link, each with its legend."""
    lines = [expr(f"{PREFIX}{metric}{LINK}", legend) for metric, legend in legends.items()]
    return graph(title, unit, *lines)


def build() -> Dashboard:
    d = board("link", "Tidemark: link", "One link beside its targets, and what decides its buffer.")
    d = d.with_variable(source("prometheus", "prometheus"))
    known = f"{PREFIX}report_age_seconds"
    d = d.with_variable(label_values("node", "node", known))
    d = d.with_variable(label_values("port", "port", f'{known}{{node="$node"}}'))
    changes = f"sum by (outcome) (increase({PREFIX}limit_changes_total[$__rate_interval]))"
    ready = f'{PREFIX}switch_ready{{node="$node"}}'
    rows = {
        "Now": [
            single(title, unit, expr(f"{PREFIX}{metric}{LINK}"), description)
            for title, unit, metric, description in NOW
        ],
        "Targets": [
            of_link(
                "Utilisation",
                "percentunit",
                utilisation_ratio="measured",
                target_utilisation_ratio="at least",
            ),
            of_link("Loss", "percentunit", loss_ratio="measured", target_loss_ratio="at most"),
            of_link(
                "Queueing delay, 99th percentile",
                "s",
                delay_p99_seconds="measured",
                target_delay_seconds="at most",
            ),
            of_link(
                "Buffer",
                "bytes",
                limit_bytes="limit",
                advised_limit_bytes="advised",
                occupancy_p99_bytes="occupancy, 99th percentile",
            ),
        ],
        "What decides the buffer": [
            of_link(
                "N_b and its 90 % range",
                "none",
                locally_bottlenecked_flows="N_b",
                locally_bottlenecked_flows_low="low",
                locally_bottlenecked_flows_high="high",
            ),
            of_link(
                "Synchronisation alpha and locally bottlenecked share C_e/C",
                "percentunit",
                loss_burst_ratio="alpha",
                locally_bottlenecked_share_ratio="C_e/C",
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
