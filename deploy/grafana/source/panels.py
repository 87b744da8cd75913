# SPDX-License-Identifier: Apache-2.0
"""Panels of both data sources, each made by one call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import (
    dashboard,
    heatmap,
    prometheus,
    stat,
    table,
    timeseries,
)
from grafana_foundation_sdk.cog import builder, variants
from grafana_foundation_sdk.models.common import BigValueTextMode
from grafana_foundation_sdk.models.dashboard import (
    AnnotationQuery,
    DashboardCursorSync,
    DashboardLinkType,
    DataSourceRef,
    DynamicConfigValue,
    ValueMap,
    ValueMappingResult,
    VariableHide,
    VariableRefresh,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

QUERIES = Path(__file__).resolve().parents[2] / "clickhouse" / "queries"
PROMETHEUS = DataSourceRef(type_val="prometheus", uid="${prometheus}")
CLICKHOUSE = DataSourceRef(type_val="grafana-clickhouse-datasource", uid="${clickhouse}")

# Query parameters in Grafana: the time range; otherwise a variable of the same name.
PARAMETERS = {"from_ms": "$__from", "to_ms": "$__to"}

# Every link with its names, only once if two controllers report it.
LINK_NAMES = "max by (node, port, queue, node_name, port_name) (tidemark_controller_link_info)"
NAME = "{{node_name}} {{port_name}} queue {{queue}}"
LINK = '{node="$node",port="$port",queue="$queue"}'

VERDICTS = {"1": ("too big", "orange"), "0": ("fine", "green"), "-1": ("too small", "red")}
VERDICT = [
    ValueMap({value: ValueMappingResult(text, color) for value, (text, color) in VERDICTS.items()})
]

# Units of columns, by the end of the column's name.
UNITS = {"_bytes": "bytes", "_bps": "bps", "_ms": "ms", "_us": "µs", "loss": "percentunit"}
UNITS |= {"loss_rate": "percentunit", "utilisation": "percentunit"}


def board(name: str, title: str, description: str, console: str = "") -> dashboard.Dashboard:
    """Makes a dashboard with links to the other dashboards and to a page of the console."""
    others = dashboard.DashboardLink("Tidemark").type(DashboardLinkType.DASHBOARDS)
    others = others.tags(["tidemark"]).include_vars(True).keep_time(True)
    page = dashboard.DashboardLink("Console").type(DashboardLinkType.LINK)
    page = page.url(f"${{console}}/{console}").target_blank(True)
    return (
        dashboard.Dashboard(title)
        .links([others, page])
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
    """Makes a variable with the values of a Prometheus label."""
    return (
        dashboard.QueryVariable(name)
        .label(name.capitalize())
        .datasource(PROMETHEUS)
        .query(f"label_values({metric}, {label})")
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    )


def named_numbers(name: str, metric: str) -> dashboard.QueryVariable:
    """Makes a variable of nodes or ports: shows names, if any, and has their numbers as values."""
    found = f'/{{{name}="(?<value>[^"]*)"(?:,{name}_name="(?<text>[^"]*)")?/'
    variable = dashboard.QueryVariable(name).label(name.capitalize()).datasource(PROMETHEUS)
    variable = variable.query(f"query_result(max by ({name}, {name}_name) ({metric}))")
    return variable.regex(found).refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)


def sql_values(name: str, label: str, sql: str) -> dashboard.QueryVariable:
    """Makes a variable with the results of a ClickHouse query."""
    variable = dashboard.QueryVariable(name).label(label).datasource(CLICKHOUSE).query(sql)
    return variable.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)


def console() -> dashboard.TextBoxVariable:
    """Makes a variable for the console's address: Prometheus does not know whether it uses TLS."""
    return typed("console", "http://127.0.0.1:8080", "Console")


def typed(name: str, value: str, label: str) -> dashboard.TextBoxVariable:
    """Makes a variable that the user types."""
    return (
        dashboard.TextBoxVariable(name)
        .label(label)
        .default_value(value)
        .hide(VariableHide.DONT_HIDE)
    )


def expr(query: str, legend: str = "") -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(query).legend_format(legend).datasource(PROMETHEUS)


def with_names(query: str) -> str:
    """Adds the link's names to the value of each link."""
    return f"({query}) * on (node, port, queue) group_left (node_name, port_name) {LINK_NAMES}"


def quantile(q: float, histogram: str, link: str = "") -> str:
    """Returns the quantile of a histogram, separately per link."""
    rates = f"rate({histogram}_bucket{link}[$__rate_interval])"
    return f"histogram_quantile({q}, sum by (node, port, queue, le) ({rates}))"


def heat(title: str, unit: str, histogram: str, link: str, description: str) -> heatmap.Panel:
    """Plots how often each value occurred, over time."""
    counts = f"sum by (le) (increase({histogram}_bucket{link}[$__rate_interval]))"
    query = expr(counts, "{{le}}").format(PromQueryFormat.HEATMAP)
    panel = heatmap.Panel().title(title).description(description).datasource(PROMETHEUS)
    panel = panel.y_axis(heatmap.YAxisConfig().unit(unit)).calculate(False)
    return panel.span(12).height(8).with_target(query)


@dataclass
class Marks(builder.Builder[AnnotationQuery], AnnotationQuery):
    """Events drawn into every graph, as annotations."""

    name: str
    datasource: DataSourceRef
    # Fields of annotations that are specific to the data source.
    of_source: dict[str, object]

    def build(self) -> Marks:
        return self

    def to_json(self) -> dict[str, object]:
        common = {"name": self.name, "datasource": self.datasource, "enable": True}
        return common | {"iconColor": "orange"} | self.of_source


def limit_marks() -> Marks:
    """Marks changes of the limit in force, by any writer, with the new limit."""
    limit = f"tidemark_controller_limit_bytes{LINK}"
    changed = f"{limit} != {limit} offset $__interval"
    expr = f'count_values by (node, port, queue) ("limit", {changed})'
    texts = {"titleFormat": "Limit changed", "textFormat": "to {{limit}} bytes"}
    of_source = {"expr": expr, "step": "15s", "tagKeys": "node,port,queue"} | texts
    return Marks("Limit changes", PROMETHEUS, of_source)


def sql_marks(title: str, name: str) -> Marks:
    """Marks the rows of a stored query with `time` and `text`."""
    return Marks(title, CLICKHOUSE, {"target": Sql(stored_query(name), 1, "Anno").to_json()})


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


def with_units(panel: builder.Builder, units: dict[str, str] = UNITS) -> builder.Builder:
    """Sets units of columns by the ends of their names."""
    for end, unit in units.items():
        panel = panel.override_by_regexp(f"/{end}$/", [DynamicConfigValue("unit", unit)])
    return panel


def on_right(panel: timeseries.Panel, **units: str) -> timeseries.Panel:
    """Draws columns with other units on separate axes."""
    for name, unit in units.items():
        properties = {"unit": unit, "custom.axisPlacement": "right"}
        values = [DynamicConfigValue(k, v) for k, v in properties.items()]
        panel = panel.override_by_name(name, values)
    return panel


def single(title: str, unit: str, query: prometheus.Dataquery, description: str = "") -> stat.Panel:
    panel = stat.Panel().title(title).description(description).unit(unit).datasource(PROMETHEUS)
    return panel.span(4).height(4).with_target(query)


def answer(panel: stat.Panel) -> stat.Panel:
    """Shows the verdict in words, with the name of its link."""
    panel = panel.mappings(VERDICT).no_value("cannot say")
    return panel.text_mode(BigValueTextMode.VALUE_AND_NAME)


def filled(
    board: dashboard.Dashboard, rows: dict[str, list[builder.Builder]]
) -> dashboard.Dashboard:
    """Adds rows of panels to a dashboard."""
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
    """Returns a query of deploy/clickhouse/queries, with Grafana's variables for its parameters."""
    text = (QUERIES / f"{name}.sql").read_text()
    text = "".join(line for line in text.splitlines(True) if not line.startswith("--"))
    return re.sub(r"\{(\w+):\w+\}", lambda m: PARAMETERS.get(m[1], f"${m[1]}"), text).strip()


def sql_table(title: str, name: str) -> table.Panel:
    panel = table.Panel().title(title).description("").datasource(CLICKHOUSE)
    return with_units(panel.span(12).height(8).with_target(Sql(stored_query(name), 1)))
