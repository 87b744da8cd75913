# SPDX-License-Identifier: Apache-2.0
"""All links by name: buffers that are too big or too small, and delay and loss of their packets."""

from __future__ import annotations

from grafana_foundation_sdk.builders import table
from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.models.dashboard import DataTransformerConfig, DynamicConfigValue
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from .panels import (
    NAME,
    PROMETHEUS,
    VERDICT,
    board,
    console,
    expr,
    filled,
    graph,
    quantile,
    source,
    with_names,
)

PREFIX = "tidemark_controller_"
OCCUPANCY = "tidemark_collector_link_occupancy_bytes"
DELAY = "tidemark_collector_link_delay_seconds"
# Each row of the table links to its link's dashboard.
FIELDS = ("node", "port", "queue")
OF_LINK = "/d/tidemark-link?" + "&".join(f"var-{f}=${{__data.fields.{f}}}" for f in FIELDS)

# Column, unit and metric.
COLUMNS = (
    ("Verdict", "none", "buffer_verdict"),
    ("Limit", "bytes", "limit_bytes"),
    ("To set", "bytes", "advised_limit_bytes"),
    ("From", "bytes", "advised_limit_low_bytes"),
    ("To", "bytes", "advised_limit_high_bytes"),
    ("Utilisation", "percentunit", "utilisation_ratio"),
    ("Loss", "percentunit", "loss_ratio"),
    ("Delay, 99 %", "s", "delay_p99_seconds"),
    ("Capacity", "Bps", "capacity_bytes_per_second"),
    ("Report's age", "s", "report_age_seconds"),
)


def now() -> table.Panel:
    """Shows a row per link."""
    panel = table.Panel().title("Links").description("The name of a port leads to its link.")
    panel = panel.datasource(PROMETHEUS).span(24).height(10)
    names = {"node_name": "Node", "port_name": "Port"}
    for number, (column, unit, metric) in enumerate(COLUMNS):
        ref = chr(ord("A") + number)
        one = f"max by (node, port, queue, node_name, port_name) ({with_names(PREFIX + metric)})"
        query = expr(one).ref_id(ref).instant().format(PromQueryFormat.TABLE)
        panel = panel.with_target(query)
        names[f"Value #{ref}"] = column
        panel = panel.override_by_name(column, [DynamicConfigValue("unit", unit)])
    order = {name: i for i, name in enumerate([*names, "node", "port", "queue"])}
    organise = {"excludeByName": {"Time": True}, "indexByName": order, "renameByName": names}
    coloured = DynamicConfigValue("custom.cellOptions", {"type": "color-text"})
    words = DynamicConfigValue("mappings", VERDICT)
    panel = panel.override_by_name("Verdict", [words, coloured])
    link = [{"title": "This link", "url": OF_LINK}]
    panel = panel.override_by_name("Port", [DynamicConfigValue("links", link)])
    panel = panel.with_transformation(DataTransformerConfig("merge", options={}))
    return panel.with_transformation(DataTransformerConfig("organize", options=organise))


def build() -> Dashboard:
    d = board("links", "Tidemark: links", "Every link: verdict, limit, and what its packets meet.")
    d = d.with_variable(source("prometheus", "prometheus")).with_variable(console())

    def of_links(title: str, unit: str, query: str) -> object:
        return graph(title, unit, expr(with_names(query), NAME))

    limits = [expr(with_names(f"{PREFIX}limit_bytes"), NAME)]
    rows = {
        "Now": [now()],
        "Every link": [
            of_links("Utilisation", "percentunit", f"{PREFIX}utilisation_ratio"),
            of_links("Loss", "percentunit", f"{PREFIX}loss_ratio"),
            of_links("Queueing delay, 99th percentile", "s", quantile(0.99, DELAY)),
            of_links("Occupancy, 99th percentile", "bytes", quantile(0.99, OCCUPANCY)),
            graph("Limit in force", "bytes", *limits),
            of_links("N_b", "none", f"{PREFIX}locally_bottlenecked_flows"),
        ],
    }
    return filled(d, rows)
