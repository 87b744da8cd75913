# SPDX-License-Identifier: Apache-2.0
"""End to end: reports over UDP, collector, front, rows. Killing either end neither loses nor
duplicates rows."""

from __future__ import annotations

import json
import subprocess
import threading
import time

import pytest
from conftest import COLLECTOR, Collector, Front, Switch, eventually, free_port

ROWS = """
SELECT sum(n), sum(distinct_n), max(high) FROM
(
    SELECT count() AS n, uniqExact(capture, order) AS distinct_n, max(order) AS high FROM postcards
    UNION ALL SELECT count(), uniqExact(capture, order), max(order) FROM events
    UNION ALL SELECT count(), uniqExact(capture, order), max(order) FROM tcp_probe
)
"""


def exact(front: Front) -> None:
    """No row is duplicated, none is missing before the last one; rollups agree."""
    for (capture,) in front.query("SELECT DISTINCT capture FROM postcards"):
        rows, distinct, last = (
            int(n)
            for n in front.query(
                ROWS.replace("FROM postcards", "FROM postcards WHERE capture = {c:String}")
                .replace("FROM events", "FROM events WHERE capture = {c:String}")
                .replace("FROM tcp_probe", "FROM tcp_probe WHERE capture = {c:String}"),
                c=capture,
            )[0]
        )
        assert rows == distinct, f"{capture}: rows are doubled"
        assert rows == last + 1, f"{capture}: {last + 1 - rows} rows are missing before the last"
    packets = front.query("SELECT count(), countIf(dropped), sum(occupancy_bytes) FROM postcards")
    for rollup in ("queue_1ms", "queue_1s"):
        sums = f"SELECT sum(packets), sum(drops), sum(occupancy_sum_bytes) FROM {rollup} FINAL"
        assert front.query(sums) == packets, rollup
    flows = front.query("SELECT sum(packets), sum(drops) FROM flow_1s FINAL")
    assert flows[0] == packets[0][:2], "flow_1s"


@pytest.fixture
def collector(tmp_path, front):
    c = Collector(tmp_path, front.url)
    yield c
    c.kill()


@pytest.fixture
def switch(collector):
    s = Switch(collector.udp)
    yield s
    s.close()


def test_rows_arrive(front, collector, switch):
    collector.start()
    switch.send(10_000)
    eventually("all reports are received", lambda: collector.metric("reports_total") == 10_000)
    eventually("rows are inserted", lambda: collector.metric("clickhouse_rows_inserted_total") > 0)
    assert collector.metric("clickhouse_rows_lost_total") == 0
    collector.end()
    assert front.query("SELECT count(), countIf(dropped) FROM postcards") == [
        ["10000", str(switch.dropped)]
    ]
    exact(front)
    # Checks values, not only counts: the last packet of the second flow.
    values = front.query(
        "SELECT node_id, egress_port, ingress_port, ip_bytes, limit_bytes, occupancy_bytes, "
        "ingress_ns, ifNull(egress_ns, 0) - ingress_ns, tcp_seq FROM postcards "
        "WHERE report_sequence = 8 AND hw_id = 0"
    )
    assert values == [
        [
            "10",
            "1",
            "2",
            "1500",
            "75700",
            "12112",
            str(5_000_000_000 + 8 * 123_040),
            "981072",
            "1460",
        ]
    ]
    assert front.query("SELECT src, src_port, dst, dst_port FROM flows ORDER BY src_port")[1] == [
        "10.0.0.1", "40001", "10.0.1.1", "5001",
    ]  # fmt: skip
    # The rows' time of day is now.
    ago = front.query("SELECT dateDiff('second', max(time), now('UTC')) FROM postcards")
    assert 0 <= int(ago[0][0]) < 120
    assert not [f for f in collector.spool.iterdir() if f.name != "lock"]


# INT 1.0 in a version 1.0 report: nodes 8 and 7, of which only 8 sends reports.
WITH_STACK = """
    14000040 00000008 000000%02x 3a6e9c%02x 020000000002 020000000001 0800
    455c05dc 00010000 40110000 0a010009 0a010008 c350c351 05c80000 01000f00 10000609 fc000000
    00000008 0017000b 00000005 02000007 3a6e94%02x 3a6e9a%02x
    00000007 00170009 00000003 01000004 3a6e90%02x 3a6e91%02x
"""


def test_rows_of_stacks_say_so(front, collector, switch):
    collector.config.write_text(collector.config.read_text() + "[nodes.8]\n[nodes.7]\n")
    collector.start()
    for i in range(1, 101):
        switch.socket.sendto(bytes.fromhex(WITH_STACK % ((i,) * 6)), switch.address)
        time.sleep(0.001)
    eventually("reports are received", lambda: collector.metric("reports_total") == 100)
    collector.end()
    of_nodes = "SELECT node_id, count(), countIf(from_stack) FROM postcards GROUP BY 1 ORDER BY 1"
    assert front.query(of_nodes) == [["7", "100", "100"], ["8", "100", "100"]]
    for view in ("queue_ms", "queue_s", "flow_s"):
        drops = f"SELECT sum(packets), sum(drops) FROM {view} WHERE node_id = 7"
        assert front.query(drops) == [["100", "\\N"]], view


def test_server_away_and_killed(front, collector, switch):
    """Rows wait while there is no server; a server killed during inserts has every row once."""
    front.stop()
    collector.start()
    switch.send(2_000)
    eventually("rows wait", lambda: collector.metric("clickhouse_spool_batches") > 0)
    assert collector.metric("clickhouse_failing") == 1
    front.start()
    sending = threading.Thread(target=switch.send, args=(60_000, 12_000))
    sending.start()
    for pause in (0.9, 0.63, 0.77):
        time.sleep(pause)
        front.kill()
        front.start()
    sending.join()
    eventually("reports are received", lambda: collector.metric("reports_total") == 62_000)
    collector.end()
    assert front.number("SELECT count() FROM postcards") == 62_000
    exact(front)


def test_collector_killed(front, collector, switch):
    """Batches that the collector had completed are stored once, after its next start."""
    for _ in range(3):
        collector.start()
        switch.send(12_000, 15_000)
        collector.kill()
    collector.start()
    eventually("the spool is empty", lambda: collector.metric("clickhouse_spool_batches") == 0)
    collector.end()
    assert len(front.query("SELECT DISTINCT capture FROM postcards")) == 3
    stored = front.number("SELECT count() FROM postcards")
    # Each kill loses the rows of batch_ms and of the pipeline.
    assert 36_000 - 3 * 15_000 < stored <= 36_000
    exact(front)


def test_load_survives_kills(tmp_path, front):
    """Loads a capture while both ends are killed, and then once more."""
    live = Collector(tmp_path, f"http://127.0.0.1:{free_port()}", "finish_s = 0\n")
    text = live.config.read_text().replace("finish_s = 60\n", "")
    capture = tmp_path / "capture"
    live.config.write_text(
        "".join(text.partition("[clickhouse]")[0])
        + f'[capture]\ndir = "{capture}"\n[nodes'
        + text.partition("[nodes")[2]
    )
    live.start()
    switch = Switch(live.udp)
    switch.send(24_000, 30_000)
    switch.close()
    eventually("reports are received", lambda: live.metric("reports_total") == 24_000)
    live.end()
    command = [str(COLLECTOR), "load", str(capture), "--clickhouse", front.url, "--json"]
    command += ["--batch-rows", "1000", "--spool-dir", str(tmp_path / "load-spool")]
    for pause in (0.25, 0.4, 0.6):
        loading = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(pause)
        front.kill()
        loading.kill()
        loading.wait()
        front.start()
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["postcards"] == 24_000
        rows = report["postcards"] + report["events"] + report["tcp_probe"]
        assert report["rows_stored"] == rows
        assert front.number("SELECT count() FROM postcards") == 24_000
        exact(front)
    assert report["batches_found"] >= 7, "the second time everything is found"
