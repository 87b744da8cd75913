# SPDX-License-Identifier: Apache-2.0
"""Runs the queries of deploy/clickhouse/queries on rows with known answers; tests the cluster
variant of the schema, and the disk space of the ground-truth data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COLLECTOR, DEPLOY, REPOSITORY, Front

START_MS = 1_700_000_000_000
# 2 s of a busy 100 Mb/s port: a packet of 1538 bytes on the wire every 123.04 us, alternating
# between two flows; the queue is empty in the first second and holds 50 packets in the second;
# drops at 1.2 s (3 packets within 1 ms, both flows) and at 1.5 s (1 packet).
PACKETS = """
INSERT INTO postcards (capture, batch, stored_on, unix_minus_node_ns, order, node_id, egress_port,
    flow_id, ingress_ns, egress_ns, occupancy_bytes, limit_bytes, ip_bytes, wire_overhead_bytes,
    payload_bytes, join, cwnd_segments, ssthresh_segments, srtt_us, dropped)
SELECT 'c', intDiv(number, 5000) * 5000, today(), {start_ms:Int64} * 1000000 - 7000, number, 10, 1,
    1 + number % 2, 7000 + number * 123040, 7000 + number * 123040 + 100,
    if(number * 123040 < 1000000000, 0, 75700), 75700, 1500, 38, 1448,
    1, if(number % 2 = 0, 10, 30), 20, 20000, false
FROM numbers(16254)
"""
DROPS = """
INSERT INTO postcards (capture, batch, stored_on, unix_minus_node_ns, order, node_id, egress_port,
    flow_id, ingress_ns, occupancy_bytes, limit_bytes, ip_bytes, dropped)
SELECT 'c', 100000, today(), {start_ms:Int64} * 1000000 - 7000, 100000 + number, 10, 1,
    1 + number % 2, 7000 + [1200000000, 1200300000, 1200600000, 1500000000][number + 1],
    75700, 75700, 1500, true
FROM numbers(4)
"""
FLOWS = """
INSERT INTO events (capture, batch, stored_on, order, kind, flow_id, src, dst, src_port, dst_port)
SELECT 'c', 200000, today(), 200000 + number, 'flow', 1 + number % 2, '10.0.0.1', '10.0.0.2',
    40000 + number % 2, 80
FROM numbers(4)
"""
WHERE = {"node": 10, "port": 1, "queue": 0, "from_ms": START_MS, "to_ms": START_MS + 2000}


def test_queries(front: Front):
    for sql in (PACKETS, DROPS, FLOWS):
        front.query(sql, start_ms=START_MS)

    ms = front.file("occupancy_per_ms", **WHERE)
    assert len(ms) == 2000
    assert sum(int(r["packets"]) for r in ms) == 16254 + 4
    assert {r["occupancy_max_bytes"] for r in ms[:1000]} == {"0"}
    assert {r["occupancy_mean_bytes"] for r in ms[1001:]} == {"75700"}
    assert [(i, int(r["drops"])) for i, r in enumerate(ms) if r["drops"] != "0"] == [
        (1200, 3), (1500, 1),
    ]  # fmt: skip

    seconds = front.file("utilisation_per_s", capacity_bps=100e6, **WHERE)
    assert [float(r["utilisation"]) for r in seconds] == pytest.approx([1, 1], abs=2e-4)
    assert [int(r["drops"]) for r in seconds] == [0, 4]

    rates = front.file("flow_rates", flows=1, **WHERE)
    assert {r["flow"] for r in rates} == {"10.0.0.1:40000 > 10.0.0.2:80"}
    assert len(rates) == 2
    assert float(rates[0]["rate_bps"]) == pytest.approx(1500 / 1538 * 50e6, rel=1e-3)
    assert rates[0]["cwnd_mean_segments"] == "10"
    assert rates[0]["srtt_mean_us"] == "20000"

    drops = front.file("drops_per_flow", **WHERE)
    assert [(r["flow_id"], r["src_port"], r["drops"], r["packets"]) for r in drops] == [
        ("1", "40000", "2", "8129"), ("2", "40001", "2", "8129"),
    ]  # fmt: skip

    events = front.file("loss_events", gap_ms=10, **WHERE)
    assert [(float(e["duration_ms"]), e["drops"], e["flows_hit"]) for e in events] == [
        (0.6, "3", "2"), (0, "1", "1"),
    ]  # fmt: skip
    assert len(front.file("loss_events", gap_ms=1000, **WHERE)) == 1

    joined = front.file("joined_cwnd", capture="c", flow=2, **WHERE)
    assert len(joined) == 16254 // 2
    assert joined[-1]["cwnd_segments"] == "30"
    assert joined[-1]["occupancy_bytes"] == "75700"

    # Another queue of the port is another link.
    other = WHERE | {"queue": 3}
    per_queue = {"capacity_bps": 1e8, "gap_ms": 10, "capture": "c", "flow": 2}
    for name in ("occupancy_per_ms", "utilisation_per_s", "loss_events", "joined_cwnd"):
        assert front.file(name, **per_queue, **other) == [], name
    packets = PACKETS.replace("egress_port,", "egress_port, queue,").replace("10, 1,", "10, 1, 3,")
    front.query(packets.replace("numbers(16254)", "numbers(100)"), start_ms=START_MS)
    ms = front.file("occupancy_per_ms", **other)
    assert sum(int(r["packets"]) for r in ms) == 100
    assert sum(int(r["packets"]) for r in front.file("occupancy_per_ms", **WHERE)) == 16254 + 4

    tables = {r["table"]: int(r["table_rows"]) for r in front.file("storage")}
    assert tables["postcards"] == 16358


STACK = """
INSERT INTO postcards (capture, batch, stored_on, unix_minus_node_ns, order, node_id, egress_port,
    queue, flow_id, ingress_ns, egress_ns, ip_bytes, wire_overhead_bytes, from_stack)
SELECT 'c', 300000, today(), {start_ms:Int64} * 1000000, 300000 + number, 11, 1,
    0, 1, number * 1000000, number * 1000000 + 100, 1500, 38,
    -- A report of the node's own, in the second second alone.
    number != 1500
FROM numbers(2000)
"""


def test_drops_that_nothing_tells_are_null(front: Front):
    """A dropped packet's metadata reaches no sink."""
    front.query(STACK, start_ms=START_MS)
    front.query(FLOWS)
    of_stacks = WHERE | {"node": 11}
    ms = front.file("occupancy_per_ms", **of_stacks)
    assert [(i, r["drops"]) for i, r in enumerate(ms) if r["drops"] != "\\N"] == [(1500, "0")]
    seconds = front.file("utilisation_per_s", capacity_bps=100e6, **of_stacks)
    assert [(r["packets"], r["drops"], r["loss"]) for r in seconds] == [
        ("1000", "\\N", "\\N"), ("1000", "0", "0"),
    ]  # fmt: skip
    first = of_stacks | {"to_ms": START_MS + 1000}
    flows = front.file("drops_per_flow", **first)
    assert [(r["packets"], r["drops"], r["loss"]) for r in flows] == [("1000", "\\N", "\\N")]
    # Drops are known from reports, whatever stack the packet had.
    drops = STACK.replace("ip_bytes,", "ip_bytes, dropped,").replace("1500, 38", "1500, true, 38")
    front.query(drops.replace("300000", "400000"), start_ms=START_MS)
    assert [r["drops"] for r in front.file("drops_per_flow", **first)] == ["1000"]


def test_a_flow_in_two_queues_is_two(front: Front):
    front.query(STACK, start_ms=START_MS)
    front.query(FLOWS)
    front.query(STACK.replace("    0, 1, number", "    3, 1, number"), start_ms=START_MS)
    of_flow = "SELECT queue, sum(packets) FROM flow_s WHERE flow_id = 1 GROUP BY 1 ORDER BY 1"
    assert front.query(of_flow) == [["0", "2000"], ["3", "2000"]]
    for queue in (0, 3):
        flows = front.file("drops_per_flow", **WHERE | {"node": 11, "queue": queue})
        assert [r["packets"] for r in flows] == ["2000"]
        rates = front.file("flow_rates", flows=5, **WHERE | {"node": 11, "queue": queue})
        assert [r["rate_bps"] for r in rates] == [str(8 * 1500 * 1000)] * 2


def test_tables_of_an_earlier_version(front: Front):
    """Tables of an earlier version accept the current schema any number of times, keep rows and
    rollups, and end up equal to new tables."""
    from tidemark_clickhouse.statements import split

    def apply(path: Path) -> None:
        for statement in split(path.read_text()):
            front.query(statement, database="before")

    front.query("CREATE DATABASE before")
    apply(Path(__file__).parent / "schema_before_stacks.sql")
    of_then = STACK.replace(", from_stack)", ")").replace("38,", "38")
    of_then = of_then.replace("    number != 1500", "")
    front.query(of_then, database="before", start_ms=START_MS)
    views = ("queue_ms", "queue_s", "flow_s")
    sums = [f"SELECT sum(packets), sum(drops) FROM {view}" for view in views]
    for _ in range(2):
        apply(DEPLOY / "schema.sql")
        # Old rows count as reports.
        for sql in sums:
            assert front.query(sql, database="before") == [["2000", "0"]]
    row = "SELECT countIf(NOT from_stack) FROM postcards"
    assert front.query(row, database="before") == [["2000"]]
    new = STACK.replace("300000", "500000").replace("'c'", "'new'")
    front.query(new, database="before", start_ms=START_MS)
    in_flow = "SELECT capture, ifNull(queue, 9), countIf(drops IS NULL) FROM flow_s GROUP BY ALL"
    assert front.query(f"{in_flow} ORDER BY 1", database="before") == [
        ["c", "9", "0"],
        ["new", "0", "1"],
    ]
    structure = (
        "SELECT table, name, type, compression_codec, is_in_sorting_key, is_in_primary_key"
        " FROM system.columns WHERE database = {of:String} AND table NOT LIKE '.%' ORDER BY ALL"
    )
    assert front.query(structure, of="before") == front.query(structure, of="tidemark")
    queries = "SELECT name, as_select FROM system.tables WHERE database = {of:String} ORDER BY ALL"
    then, now = (front.query(queries, of=of) for of in ("before", "tidemark"))
    assert [[c.replace("before.", "tidemark.") for c in row] for row in then] == now


def test_a_time_range_reads_a_part(front: Front):
    """Reads only some of the rows: the primary key supports time ranges."""
    front.query(PACKETS.replace("numbers(16254)", "numbers(500000)"), start_ms=START_MS)
    plan = front.query(
        "EXPLAIN indexes = 1 SELECT count() FROM postcards WHERE node_id = 10 "
        f"AND egress_port = 1 AND unix_ns < {(START_MS + 1000) * 1_000_000}"
    )
    text = "\n".join(row[0].strip() for row in plan)
    granules = [line for line in text.splitlines() if line.startswith("Granules: ")]
    read, total = granules[-1].removeprefix("Granules: ").split("/")
    assert int(total) > 50
    assert int(read) < int(total) / 10, text


def test_cluster_schema(front: Front):
    """Only parsed by the engine, which has no Keeper to run it."""
    from tidemark_clickhouse.statements import split

    statements = split((DEPLOY / "cluster.sql").read_text())
    assert len(statements) > 15
    for statement in statements:
        assert "ON CLUSTER" in statement
        one_line = statement.replace("\n", " ")
        front.query("SELECT formatQuery({text:String}) FORMAT Null", text=one_line)


@pytest.fixture(params=["golden", "whole"])
def simulated(request, tmp_path) -> Path:
    """Returns the files of a simulated run: of the golden set, and the whole run if present."""
    if request.param == "golden":
        reduce = REPOSITORY / "common" / "test-support" / "golden" / "reduce.py"
        unpacking = [sys.executable, str(reduce), "--unpack", "bscl_n20_bdp"]
        subprocess.run([*unpacking, "--out", str(tmp_path / "run")], check=True)
        return tmp_path / "run"
    data = REPOSITORY.parent / "shared" / "data" / "ns3" / "bscl_n20_bdp"
    if not data.is_dir():
        missing = f"no {data}: the whole run is not next to the repository"
        if os.environ.get("TIDEMARK_SHARED_DATA") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    return data


def test_bytes_of_a_joined_postcard(tmp_path, simulated: Path, front: Front):
    data = simulated
    nodes = tmp_path / "nodes.toml"
    nodes.write_text(
        '[nodes.10]\ntime_unit = "ns"\ndepth_unit = "packets"\n'
        "[nodes.10.ports.1]\ncapacity_bps = 50000000\n"
    )
    capture = tmp_path / "capture"
    importing = [str(COLLECTOR), "import", "--pcap", str(data / "reports.pcap.gz")]
    importing += ["--tcp-probe", str(data / "tcp_probe.txt.gz"), "--nodes", str(nodes)]
    subprocess.run([*importing, "--out", str(capture), "--json"], check=True, capture_output=True)
    loading = [str(COLLECTOR), "load", str(capture), "--clickhouse", front.url, "--json"]
    done = subprocess.run(loading, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    for table in ("postcards", "tcp_probe", "events"):
        assert front.number(f"SELECT count() FROM {table}") == report[table]
    sizes = {r["table"]: float(r["bytes_per_row"]) for r in front.file("storage")}
    print(sizes)
    assert sizes["postcards"] <= 14
    joined = front.number(
        "SELECT countIf(join IN (1, 2)) / countIf(join > 0) >= 0.99 FROM postcards"
    )
    assert joined == 1
