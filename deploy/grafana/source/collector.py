# SPDX-License-Identifier: Apache-2.0
"""Collector and controller: whether everything arrives, and whether anything is lost."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.builders.prometheus import Dataquery

from .panels import board, console, expr, filled, graph, label_values, source

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
    ).with_variable(console())
    samples = rates("probe_samples", "retransmit_events", "congestion_events")
    samples_lost = rates("probe_lost", "probe_unrecorded", "agent_ring_lost", "agent_buffer_lost")
    refused = [
        expr(rate("datagrams_malformed", "reason"), "malformed: {{reason}}"),
        *rates("reports_unconfigured_node", "reports_refused_exporter", "nodes_refused"),
        *rates("streams_refused", "reports_implausible_sequence", "reports_implausible_time"),
    ]
    tags = [
        *rates("reports_refused_no_tag", "reports_refused_wrong_tag"),
        *rates("reports_refused_replayed", "reports_tag_unchecked"),
    ]
    of_tags = (
        "Of nodes with a key: refused without a tag, with a wrong one, sent again."
        " Unchecked: a tag of a node that has no key here."
    )
    of_reports = "By sequence number; those that found the socket's buffer full."
    ages = [
        expr("tidemark_controller_telemetry_age_seconds", "{{collector}}"),
        expr(
            "tidemark_controller_report_age_seconds",
            "node {{node}} port {{port}} queue {{queue}}",
        ),
    ]
    drift = gauge("clock_drift_ppm", "node {{node}} {{host}}")
    lost = rates("reports_lost", "kernel_drops")
    rows = {
        "What arrives": [
            graph("Reports", "pps", *rates("reports", "datagrams")),
            graph("tcp_probe", "ops", *samples),
            graph("Packets joined with their window", "percentunit", gauge("join_matched_ratio")),
            graph("Flows", "none", gauge("flows_active")),
        ],
        "What is lost": [
            graph("Reports lost", "pps", *lost, description=of_reports),
            graph("Samples lost", "ops", *samples_lost),
            graph("Refused", "pps", *refused),
            graph("Tags of reports", "pps", *tags, description=of_tags),
            graph("Updates that subscribers missed", "ops", *rates("updates_lost")),
        ],
        "Clocks": [graph("Drift of hosts' clocks", "ppm", drift)],
        "Controller": [
            graph("Age of telemetry", "s", *ages),
            graph("Audit log", "ops", audit("not_written"), audit("rejected")),
        ],
    }
    return filled(d, rows)
