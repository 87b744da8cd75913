# SPDX-License-Identifier: Apache-2.0
"""Every row of every file, nulls as nulls, times as integers, in every library."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import tidemark_buffer as tb
from conftest import RUN


def stored(run: Path, table: str) -> pa.Table:
    """Returns the table as pyarrow reads its files, in their order."""
    files = sorted((run / "capture").glob(f"{table}-*.parquet"))
    return pa.concat_tables([parquet.read_table(file) for file in files])


@pytest.mark.parametrize(
    ("table", "method"),
    [("postcards", "packets"), ("tcp_probe", "samples"), ("events", "events")],
)
def test_every_row_is_read_and_every_value_is_the_stored_one(
    many_files: Path, table: str, method: str
) -> None:
    expected = stored(many_files, table)
    assert len(list((many_files / "capture").glob(f"{table}-*.parquet"))) > 1
    read = getattr(tb.Run(many_files), method)().to_arrow()
    assert read.num_rows == expected.num_rows > 500
    for name in expected.column_names:
        values = expected.column(name)
        assert read.column(name).null_count == values.null_count, name
        assert read.column(name).to_pylist() == values.to_pylist(), name
    for name in read.column_names:
        if name.endswith("_ns"):
            assert read.schema.field(name).type == pa.int64(), name


def test_rows_that_pandas_reads_from_one_file_are_a_part(many_files: Path) -> None:
    one = pd.read_parquet(many_files / "capture" / "postcards-0000.parquet")
    assert len(tb.Run(many_files).packets().to_pandas()) > 10 * len(one)


def test_each_packet_has_the_addresses_of_its_flow() -> None:
    run = tb.Run(RUN)
    flows = {row["flow_id"]: row for row in run.flows().to_arrow().to_pylist()}
    assert len(flows) > 1
    names = ["src", "dst", "src_port", "dst_port", "protocol"]
    packets = run.packets([*names, "flow_id"]).to_arrow()
    assert packets.column_names == [*names, "flow_id"]
    assert len({row["src_port"] for row in packets.to_pylist()}) > 1
    for row in packets.slice(0, 500).to_pylist():
        flow = flows[row["flow_id"]]
        assert row == {name: flow[name] for name in [*names, "flow_id"]}
    # Also without the flow number, and without any column of the flow.
    assert run.packets(["src"]).to_arrow().column("src").null_count == 0
    assert run.packets(["order"]).to_arrow().column_names == ["order"]


def test_a_flow_that_nobody_described_is_null(run_copy: Path) -> None:
    file = run_copy / "capture" / "events-0000.parquet"
    events = parquet.read_table(file)
    flow = tb.Run(RUN).flows().to_arrow().column("flow_id")[0].as_py()
    gone = pa.compute.and_kleene(
        pa.compute.equal(events["kind"], "flow"),
        pa.compute.equal(events["flow_id"], pa.scalar(flow, pa.uint64())),
    )
    parquet.write_table(events.filter(pa.compute.invert(gone)), file, compression="zstd")
    packets = tb.Run(run_copy).packets(["src", "src_port"], flow_id=flow).to_arrow()
    assert packets.num_rows > 0
    assert packets.column("src").null_count == packets.num_rows
    assert packets.column("src_port").null_count == packets.num_rows


def test_what_was_not_seen_of_a_flow_is_null_not_0() -> None:
    flows = tb.Run(RUN).flows().to_arrow().to_pylist()
    for flow in flows:
        assert flow["handshake_rtt_ns"] is None or flow["handshake_rtt_ns"] > 0
        assert flow["mss_bytes"] is None or flow["mss_bytes"] > 0
    stored_events = stored(RUN, "events").filter(
        pa.compute.equal(stored(RUN, "events")["kind"], "flow")
    )
    assert len(flows) == len(set(stored_events["flow_id"].to_pylist()))


def test_pandas_keeps_integers_with_nulls() -> None:
    packets = tb.Run(RUN).packets().to_pandas()
    dropped = packets[packets["dropped"]]
    assert len(dropped) > 0
    assert dropped["egress_ns"].isna().all()
    left = packets["egress_ns"].dropna()
    assert len(left) + len(dropped) == len(packets)
    assert pd.api.types.is_integer_dtype(packets["egress_ns"].dtype)
    delay = left - packets.loc[left.index, "ingress_ns"]
    assert (delay >= 0).all()


def test_polars_duckdb_and_pyarrow_take_a_table_as_it_is() -> None:
    packets = tb.Run(RUN).packets()
    expected = stored(RUN, "postcards")
    drops = pa.compute.sum(expected["dropped"]).as_py()
    frame = pl.DataFrame(packets)
    assert (frame.height, frame["dropped"].sum()) == (expected.num_rows, drops)
    assert frame.schema["ingress_ns"] == pl.Int64
    assert frame["egress_ns"].null_count() == drops
    asked = "select count(*), sum(dropped::int), count(egress_ns), count(distinct src) from packets"
    ((rows, dropped, left, sources),) = duckdb.sql(asked).fetchall()
    assert (rows, dropped, left) == (expected.num_rows, drops, expected.num_rows - drops)
    assert sources > 0
    # Twice: a table can be read again.
    assert pa.table(packets).num_rows == pa.table(packets).num_rows == expected.num_rows
    batches = pa.RecordBatchReader.from_stream(packets)
    assert sum(batch.num_rows for batch in batches) == expected.num_rows


def test_a_part_is_that_part() -> None:
    run = tb.Run(RUN)
    every = run.packets(["ingress_ns", "flow_id"]).to_arrow().to_pylist()
    first = min(row["ingress_ns"] for row in every)
    span = range(first + 2_000_000_000, first + 3_000_000_000)
    expected = [row for row in every if row["ingress_ns"] in span]
    columns = ["ingress_ns", "flow_id"]
    assert run.packets(columns, from_s=2, to_s=3).to_arrow().to_pylist() == expected
    in_ns = run.packets(columns, from_ns=span.start, to_ns=span.stop)
    assert in_ns.to_arrow().to_pylist() == expected
    flow = every[0]["flow_id"]
    of_flow = run.packets(columns, flow_id=flow).to_arrow().to_pylist()
    assert of_flow == [row for row in every if row["flow_id"] == flow]
    assert 0 < len(of_flow) < len(every)


def test_an_older_capture_lacks_a_column_and_its_values_are_null(run_copy: Path) -> None:
    file = run_copy / "capture" / "postcards-0000.parquet"
    rows = parquet.read_table(file)
    parquet.write_table(rows.drop_columns(["feedback_rtt_us"]), file, compression="zstd")
    packets = tb.Run(run_copy).packets().to_arrow()
    assert packets.column("feedback_rtt_us").null_count == packets.num_rows == rows.num_rows


def test_what_is_not_there_is_said() -> None:
    run = tb.Run(RUN)
    with pytest.raises(ValueError, match='postcards has no column "sorce"; it has order, '):
        run.packets(["sorce"])
    with pytest.raises(ValueError, match="from_s: -1 is not a time"):
        run.packets(from_s=-1)
    with pytest.raises(ValueError, match="not both"):
        run.packets(from_s=1, from_ns=1)
    with pytest.raises(TypeError, match="list of names"):
        run.packets("order")
    with pytest.raises(ValueError, match="it has deep, shallow"):
        run.flows("dep")


def test_columns_and_types_are_told() -> None:
    columns = tb.Run(RUN).packets().columns
    assert columns["ingress_ns"] == columns["egress_ns"] == "Int64"
    assert columns["src"] == "Utf8"
    assert "src: Utf8" in repr(tb.Run(RUN).packets())
