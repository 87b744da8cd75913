# SPDX-License-Identifier: Apache-2.0
"""All rows of many runs as one table: Parquet and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from ..errors import LabError
from ..json_types import JsonObject
from . import rows, store
from .columns import schema


def of_paths(paths: Sequence[Path]) -> pa.Table:
    """Returns the table of all complete runs at these paths, each of which must have one."""
    runs: set[Path] = set()
    for path in paths:
        if not (there := store.find([path])):
            raise LabError(
                f"{path}: no complete run is there: no {store.RECORD} in it or below; name a run "
                "of `run`, `sweep` or `make demo`, or a directory of such runs"
            )
        runs |= set(there)
    return of_runs(sorted(runs))


def of_runs(run_dirs: Sequence[Path]) -> pa.Table:
    """Returns one row per phase and switch; parameters of the grids come last."""
    records = [store.read(d) for d in run_dirs]
    settings: dict[str, None] = {}
    for record in records:
        settings |= dict.fromkeys(record["settings"])
    out: list[JsonObject] = []
    for record in records:
        shared = {
            **{k: record[k] for k in ("experiment", "run", "back_end", "repetition", "seed")},
            # Records without this key are older: offloads were then always off on real hosts.
            "offloads": record.get("offloads", False if record["back_end"] == "embedded" else None),
            "kernel": record["machine"]["kernel"],
            "commit": record["machine"]["commit"],
            "started": record["started"],
        }
        out += [rows.whole(row, shared, record["settings"]) for row in record["rows"]]
    return pa.Table.from_pylist(out, schema=schema(list(settings)))


def write(table: pa.Table, out: Path) -> tuple[Path, Path]:
    """Writes `table.parquet` and `table.csv` to a directory."""
    out.mkdir(parents=True, exist_ok=True)
    parquet, csv = out / "table.parquet", out / "table.csv"
    pq.write_table(table, parquet, compression="zstd")
    pa_csv.write_csv(table, csv)
    return parquet, csv
