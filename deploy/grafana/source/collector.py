# SPDX-License-Identifier: Apache-2.0
"""Collector and controller: does everything arrive, and is anything lost."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.builders.prometheus import Dataquery

from .panels import board, expr, graph, label_values, source

PREFIX = "tidemark_collector_"
INSTANCE = 'instance=~"$instance"'


def rate(metric: str, by: str = "instance") -> str:
    return f"sum by ({by}) (rate({PREFIX}{metric}_total{{{INSTANCE}}}[$__rate_interval]))"


def rates(*metrics: str) -> list[Dataquery]:
    return [expr(rate(m), f"{m} {{{{instance}}}}") for m in metrics]


def gauge(metric: str, legend: str = "{{instance}}") -> Dataquery:
    return expr(f"{PREFIX}{metric}{{{INSTANCE}}}", legend)


def audit(what: str) -> Dataquery:
    metric = f"tidemark_controller_audit_records_{what}_total"
    return expr(f"rate({metric}[$__rate_interval])", what)


def build() -> Dashboard:
    d = board("collector", "Tidemark: collector", "What arrives, and everything that is lost.")
    d = d.with_variable(source("prometheus", "prometheus"))
    d = d.with_variable(
        label_values("instance", "instance", f"{PREFIX}datagrams_total")
        .multi(True)
        .include_all(True)
    )
    d = d.with_row(Row("What arrives"))
    d = d.with_panel(graph("Reports", "pps", *rates("reports", "datagrams")))
    d = d.with_panel(
        graph("tcp_probe", "ops", *rates("probe_samples", "retransmit_events", "congestion_events"))
    )
    d = d.with_panel(
        graph("Packets joined with their window", "percentunit", gauge("join_matched_ratio"))
    )
    d = d.with_panel(graph("Flows", "none", gauge("flows_active")))
    d = d.with_row(Row("What is lost"))
    d = d.with_panel(
        graph("Reports lost", "pps", *rates("reports_lost", "kernel_drops"),
              description="By sequence number; those that found the socket's buffer full."),
    )  # fmt: skip
    d = d.with_panel(
        graph(
            "Samples lost",
            "ops",
            *rates("probe_lost", "probe_unrecorded", "agent_ring_lost", "agent_buffer_lost"),
        )
    )
    d = d.with_panel(
        graph(
            "Refused",
            "pps",
            expr(rate("datagrams_malformed", "reason"), "malformed: {{reason}}"),
            *rates("reports_unconfigured_node", "reports_refused_exporter", "nodes_refused"),
            *rates("streams_refused", "reports_implausible_sequence", "reports_implausible_time"),
        )
    )
    d = d.with_panel(
        graph(
            "Tags of reports",
            "pps",
            *rates("reports_refused_no_tag", "reports_refused_wrong_tag"),
            *rates("reports_refused_replayed", "reports_tag_unchecked"),
            description="Of nodes with a key: refused without a tag, with a wrong one, sent again."
            " Unchecked: a tag of a node that has no key here.",
        )
    )
    d = d.with_panel(graph("Updates that subscribers missed", "ops", *rates("updates_lost")))
    d = d.with_row(Row("Clocks"))
    d = d.with_panel(
        graph("Drift of hosts' clocks", "ppm", gauge("clock_drift_ppm", "node {{node}} {{host}}"))
    )
    d = d.with_row(Row("Controller"))
    d = d.with_panel(
        graph(
            "Age of telemetry",
            "s",
            expr("tidemark_controller_telemetry_age_seconds", "{{collector}}"),
            expr("tidemark_controller_report_age_seconds", "node {{node}} port {{port}}"),
        )
    )
    return d.with_panel(
        graph(
            "Audit log",
            "ops",
            audit("not_written"),
            audit("rejected"),
        )
    )
