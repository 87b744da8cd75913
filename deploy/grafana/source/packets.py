# SPDX-License-Identifier: Apache-2.0
"""Packets in ClickHouse: the queries of deploy/clickhouse/queries as panels."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from .panels import board, source, sql_graph, sql_table, stored_query, typed


def build() -> Dashboard:
    d = board("packets", "Tidemark: packets", "Every packet of one port, from ClickHouse.")
    d = d.refresh("").time("now-5m", "now")
    d = d.with_variable(source("clickhouse", "grafana-clickhouse-datasource"))
    d = d.with_variable(typed("node", "10", "Node"))
    d = d.with_variable(typed("port", "1", "Egress port"))
    d = d.with_variable(typed("capacity_bps", "100000000", "Capacity, bits/s"))
    d = d.with_variable(typed("flows", "10", "Largest flows"))
    d = d.with_variable(typed("gap_ms", "50", "Loss events: gap, ms"))
    d = d.with_row(Row("Queue"))
    d = d.with_panel(
        sql_graph(
            "Occupancy that arriving packets met, per millisecond",
            "none",
            stored_query("occupancy_per_ms"),
        ).span(24)
    )
    d = d.with_panel(
        sql_graph("Utilisation and loss, per second", "none", stored_query("utilisation_per_s"))
    )
    d = d.with_panel(sql_table("Loss events", stored_query("loss_events")))
    d = d.with_row(Row("Flows"))
    d = d.with_panel(sql_table("Rates of the largest flows", stored_query("flow_rates")))
    d = d.with_panel(sql_table("Drops per flow", stored_query("drops_per_flow")))
    d = d.with_row(Row("Limit"))
    return d.with_panel(sql_table("Limit changes", stored_query("limit_changes")).span(24))
