# SPDX-License-Identifier: Apache-2.0
"""Packets in ClickHouse: the queries of deploy/clickhouse/queries as panels."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard

from .panels import Sql, board, filled, graph, source, sql_table, stored_query, typed


def build() -> Dashboard:
    d = board("packets", "Tidemark: packets", "Every packet of one port, from ClickHouse.")
    d = d.refresh("").time("now-5m", "now")
    d = d.with_variable(source("clickhouse", "grafana-clickhouse-datasource"))
    d = d.with_variable(typed("node", "10", "Node"))
    d = d.with_variable(typed("port", "1", "Egress port"))
    d = d.with_variable(typed("capacity_bps", "100000000", "Capacity, bits/s"))
    d = d.with_variable(typed("flows", "10", "Largest flows"))
    d = d.with_variable(typed("gap_ms", "50", "Loss events: gap, ms"))
    occupancy = Sql(stored_query("occupancy_per_ms"), 0)
    utilisation = Sql(stored_query("utilisation_per_s"), 0)
    rows = {
        "Queue": [
            graph("Occupancy that arriving packets met, per millisecond", "none", occupancy).span(
                24
            ),
            graph("Utilisation and loss, per second", "none", utilisation),
            sql_table("Loss events", "loss_events"),
        ],
        "Flows": [
            sql_table("Rates of the largest flows", "flow_rates"),
            sql_table("Drops per flow", "drops_per_flow"),
        ],
        "Limit": [sql_table("Limit changes", "limit_changes").span(24)],
    }
    return filled(d, rows)
