#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cluster.sql: schema.sql for several servers. `--check` compares only."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEAD = """-- SPDX-License-Identifier: Apache-2.0
-- Tidemark's tables on a cluster: replicated, sharded by flow. Made of schema.sql
-- by make_cluster.py: change that one.
--
--   clickhouse-client --database tidemark --multiquery < cluster.sql
--
-- Every server needs the macros {cluster}, {shard} and {replica}, and ClickHouse
-- Keeper; the database must exist on all (CREATE DATABASE tidemark ON CLUSTER
-- '{cluster}'). Rows live in the tables *_local; collectors and dashboards use the
-- names without it, on any server. Rollups are made on each shard of its own rows.
"""
ON = "ON CLUSTER '{cluster}'"
PATH = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"
SHARDING = {
    "postcards": "cityHash64(flow_id)",
    "tcp_probe": "cityHash64(flow_id)",
    "events": "cityHash64(ifNull(flow_id, 0))",
    # A record sent twice must meet itself.
    "limit_changes": "cityHash64(record)",
}


def table(statement: str) -> list[str]:
    name = re.match(r"CREATE TABLE IF NOT EXISTS (\w+)", statement)[1]
    local = statement.replace(
        f"CREATE TABLE IF NOT EXISTS {name}", f"CREATE TABLE IF NOT EXISTS {name}_local {ON}", 1
    )
    local = re.sub(r"ENGINE = (\w+)", rf"ENGINE = Replicated\1({PATH})", local)
    local = local.replace(
        "non_replicated_deduplication_window = 10000",
        "replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800",
    )
    arguments = ["'{cluster}'", "currentDatabase()", f"{name}_local", SHARDING.get(name, "rand()")]
    distributed = (
        f"CREATE TABLE IF NOT EXISTS {name} {ON}\nAS {name}_local\n"
        f"ENGINE = Distributed({', '.join(arguments)})"
    )
    return [local, distributed]


def statement_for_cluster(statement: str) -> list[str]:
    if statement.startswith("CREATE TABLE"):
        return table(statement)
    if statement.startswith("CREATE MATERIALIZED VIEW"):
        text = re.sub(
            r"EXISTS (\w+) TO (\w+) AS", rf"EXISTS \1 {ON} TO \2_local AS", statement, count=1
        )
        return [re.sub(r"\bpostcards\b", "postcards_local", text)]
    return [re.sub(r"EXISTS (\w+) AS", rf"EXISTS \1 {ON} AS", statement, count=1)]


def cluster(schema: str) -> str:
    code = "\n".join(line for line in schema.splitlines() if not line.startswith("--"))
    out = []
    for statement in code.split(";"):
        if statement.strip():
            out += statement_for_cluster(statement.strip())
    return HEAD + "".join(f"\n{s};\n" for s in out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = cluster((HERE / "schema.sql").read_text())
    path = HERE / "cluster.sql"
    if not args.check:
        path.write_text(text)
    elif path.read_text() != text:
        print(f"{path} is older than schema.sql: run make_cluster.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
