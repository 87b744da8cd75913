# SPDX-License-Identifier: Apache-2.0
"""Packets in ClickHouse: the queries of deploy/clickhouse/queries as panels."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, QueryVariable
from grafana_foundation_sdk.models.dashboard import VariableRefresh

from .panels import (
    PROMETHEUS,
    Sql,
    board,
    console,
    filled,
    graph,
    on_right,
    source,
    sql_marks,
    sql_table,
    sql_values,
    stored_query,
    typed,
)

# The dashboard's time range.
SPAN = "time >= toDateTime(intDiv($__from, 1000)) AND time < toDateTime(intDiv($__to, 1000) + 1)"
NODES = (
    f"SELECT DISTINCT toString(node_id) AS node FROM queue_1s WHERE {SPAN} ORDER BY toUInt32(node)"
)
PORTS = (
    "SELECT DISTINCT toString(egress_port) AS port FROM queue_1s"
    f" WHERE node_id = toUInt32($node) AND {SPAN} ORDER BY toUInt32(port)"
)
QUEUES = (
    "SELECT DISTINCT toString(ifNull(queue, 0)) AS queue FROM queue_1s"
    f" WHERE node_id = toUInt32($node) AND egress_port = toUInt32($port) AND {SPAN}"
    " ORDER BY toUInt32(queue)"
)
QUEUE = '{node="$node",port="$port",queue="$queue"}'
CAPACITY = f"query_result(max(8 * tidemark_controller_capacity_bytes_per_second{QUEUE}))"


def capacity() -> QueryVariable:
    """Takes the capacity from Prometheus, because ClickHouse has none."""
    variable = QueryVariable("capacity_bps").label("Capacity, bits/s").datasource(PROMETHEUS)
    variable = variable.query(CAPACITY).regex(r"/\} (\S+) /")
    return variable.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)


def build() -> Dashboard:
    about = "Every packet and flow of one queue, from ClickHouse."
    d = board("packets", "Tidemark: packets", about, console="#link=$node:$port:$queue")
    d = d.refresh("").time("now-5m", "now")
    d = d.with_variable(source("clickhouse", "grafana-clickhouse-datasource"))
    d = d.with_variable(source("prometheus", "prometheus"))
    d = d.with_variable(sql_values("node", "Node", NODES))
    d = d.with_variable(sql_values("port", "Egress port", PORTS))
    d = d.with_variable(sql_values("queue", "Queue", QUEUES))
    d = d.with_variable(capacity())
    d = d.with_variable(typed("flows", "10", "Largest flows"))
    d = d.with_variable(typed("gap_ms", "50", "Loss events: gap, ms"))
    d = d.with_variable(console()).annotation(sql_marks("Limit changes", "limit_marks"))
    occupancy = graph(
        "Occupancy that arriving packets met, per millisecond",
        "bytes",
        Sql(stored_query("occupancy_per_ms"), 0),
    )
    utilisation = graph(
        "Utilisation and loss, per second", "percentunit", Sql(stored_query("utilisation_per_s"), 0)
    )
    counts = {"packets": "short", "drops": "short"}
    utilisation = on_right(utilisation, **counts, occupancy_mean_bytes="bytes")
    rows = {
        "Queue": [
            on_right(occupancy, **counts).span(24),
            utilisation,
            sql_table("Loss events", "loss_events"),
        ],
        "Flows": [
            sql_table("Rates of the largest flows of the queue", "flow_rates"),
            sql_table("Drops per flow of the queue", "drops_per_flow"),
        ],
        "Limit": [sql_table("Limit changes", "limit_changes").span(24)],
    }
    return filled(d, rows)
