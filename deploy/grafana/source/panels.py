# SPDX-License-Identifier: Apache-2.0
"""Panels of both data sources, each in one line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog import builder, variants
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    VariableHide,
    VariableRefresh,
)

QUERIES = Path(__file__).resolve().parents[2] / "clickhouse" / "queries"
PROMETHEUS = DataSourceRef(type_val="prometheus", uid="${prometheus}")
CLICKHOUSE = DataSourceRef(type_val="grafana-clickhouse-datasource", uid="${clickhouse}")

# What a query's parameter is in Grafana: the span on the screen, or a variable.
PARAMETERS = {"from_ms": "$__from", "to_ms": "$__to"}


def board(name: str, title: str, description: str) -> dashboard.Dashboard:
    return (
        dashboard.Dashboard(title)
        .uid(f"tidemark-{name}")
        .description(description)
        .tags(["tidemark"])
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .refresh("5s")
        .time("now-15m", "now")
    )


def source(name: str, kind: str) -> dashboard.DatasourceVariable:
    return dashboard.DatasourceVariable(name).label(name.capitalize()).type(kind)


def label_values(name: str, label: str, metric: str) -> dashboard.QueryVariable:
    """A choice among the values that a label has in Prometheus."""
    return (
        dashboard.QueryVariable(name)
        .label(name.capitalize())
        .datasource(PROMETHEUS)
        .query(f"label_values({metric}, {label})")
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    )


def typed(name: str, value: str, label: str) -> dashboard.TextBoxVariable:
    """A value that the reader types."""
    return (
        dashboard.TextBoxVariable(name)
        .label(label)
        .default_value(value)
        .hide(VariableHide.DONT_HIDE)
    )


def expr(query: str, legend: str = "") -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(query).legend_format(legend).datasource(PROMETHEUS)


def graph(
    title: str, unit: str, *queries: variants.Dataquery, description: str = ""
) -> timeseries.Panel:
    panel = timeseries.Panel().title(title).description(description).unit(unit)
    of_sql = isinstance(queries[0], Sql)
    panel = panel.datasource(CLICKHOUSE if of_sql else PROMETHEUS)
    panel = panel.span(12).height(8).fill_opacity(0)
    if not of_sql:
        panel = panel.line_width(2)
    for query in queries:
        panel = panel.with_target(query)
    return panel


def single(title: str, unit: str, query: prometheus.Dataquery, description: str = "") -> stat.Panel:
    panel = stat.Panel().title(title).description(description).unit(unit).datasource(PROMETHEUS)
    return panel.span(4).height(4).with_target(query)


def filled(
    board: dashboard.Dashboard, rows: dict[str, list[builder.Builder]]
) -> dashboard.Dashboard:
    """With rows of panels."""
    for title, panels in rows.items():
        board = board.with_row(dashboard.Row(title))
        for panel in panels:
            board = board.with_panel(panel)
    return board


@dataclass
class Sql(variants.Dataquery, builder.Builder["Sql"]):
    """A query of the plugin `grafana-clickhouse-datasource` (SQL editor)."""

    sql: str
    # 0: time series, 1: table.
    format: int
    ref_id: str = "A"

    def build(self) -> Sql:
        return self

    def to_json(self) -> dict[str, object]:
        return {
            "refId": self.ref_id,
            "datasource": CLICKHOUSE.to_json(),
            "editorType": "sql",
            "queryType": "table" if self.format else "timeseries",
            "format": self.format,
            "rawSql": self.sql,
        }


def stored_query(name: str) -> str:
    """A query of deploy/clickhouse/queries with Grafana's variables for its parameters."""
    text = (QUERIES / f"{name}.sql").read_text()
    text = "".join(line for line in text.splitlines(True) if not line.startswith("--"))
    return re.sub(r"\{(\w+):\w+\}", lambda m: PARAMETERS.get(m[1], f"${m[1]}"), text).strip()


def sql_table(title: str, name: str) -> table.Panel:
    panel = table.Panel().title(title).description("").datasource(CLICKHOUSE)
    return panel.span(12).height(8).with_target(Sql(stored_query(name), 1))
