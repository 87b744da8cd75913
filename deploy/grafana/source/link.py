# SPDX-License-Identifier: Apache-2.0
"""One link: is it within its targets, and what decides its buffer."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from .panels import board, expr, graph, label_values, single, source

PREFIX = "tidemark_controller_"
LINK = '{node="$node",port="$port"}'


# Row: panels with title, unit, and the legend of each metric of the link.
GRAPHS = {
    "Targets": [
        (
            "Utilisation",
            "percentunit",
            {"utilisation_ratio": "measured", "target_utilisation_ratio": "at least"},
        ),
        ("Loss", "percentunit", {"loss_ratio": "measured", "target_loss_ratio": "at most"}),
        (
            "Queueing delay, 99th percentile",
            "s",
            {"delay_p99_seconds": "measured", "target_delay_seconds": "at most"},
        ),
        (
            "Buffer",
            "bytes",
            {
                "limit_bytes": "limit",
                "advised_limit_bytes": "advised",
                "occupancy_p99_bytes": "occupancy, 99th percentile",
            },
        ),
    ],
    "What decides the buffer": [
        (
            "N_b and its 90 % range",
            "none",
            {
                "locally_bottlenecked_flows": "N_b",
                "locally_bottlenecked_flows_low": "low",
                "locally_bottlenecked_flows_high": "high",
            },
        ),
        (
            "Synchronisation alpha and locally bottlenecked share C_e/C",
            "percentunit",
            {"loss_burst_ratio": "alpha", "locally_bottlenecked_share_ratio": "C_e/C"},
        ),
    ],
}


def of_link(metric: str) -> str:
    return f"{PREFIX}{metric}{LINK}"


def build() -> Dashboard:
    d = board("link", "Tidemark: link", "One link beside its targets, and what decides its buffer.")
    d = d.with_variable(source("prometheus", "prometheus"))
    known = f"{PREFIX}report_age_seconds"
    d = d.with_variable(label_values("node", "node", known))
    d = d.with_variable(label_values("port", "port", f'{known}{{node="$node"}}'))
    d = d.with_row(Row("Now"))
    for title, unit, metric, description in [
        ("Age of the newest report", "s", "report_age_seconds", "Above 5 s nothing below is live."),
        ("N_b", "none", "locally_bottlenecked_flows", "Flows bottlenecked at this link."),
        ("alpha", "none", "loss_burst_ratio", "Mean drops per loss event, per flow of N_b."),
        ("Delta", "none", "window_spread_ratio", "Spread of the flows' windows; 1 = all equal."),
        ("T_e", "s", "effective_rtt_seconds", "Harmonic mean of the flows' base RTTs."),
        ("Limit", "bytes", "limit_bytes", "The port's buffer limit in force."),
    ]:
        d = d.with_panel(single(title, unit, expr(of_link(metric)), description))
    for row, panels in GRAPHS.items():
        d = d.with_row(Row(row))
        for title, unit, lines in panels:
            queries = [expr(of_link(metric), legend) for metric, legend in lines.items()]
            d = d.with_panel(graph(title, unit, *queries))
    changes = f"sum by (outcome) (increase({PREFIX}limit_changes_total[$__rate_interval]))"
    return d.with_panel(
        graph("Limit changes, all links", "none", expr(changes, "{{outcome}}"))
    ).with_panel(
        graph(
            "Control",
            "none",
            expr(f"{PREFIX}auto_mode", "auto mode"),
            expr(f'{PREFIX}switch_ready{{node="$node"}}', "switch ready"),
        )
    )
