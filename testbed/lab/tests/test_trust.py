# SPDX-License-Identifier: Apache-2.0
"""The row of a run that the machine slowed down says so, and why."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemark_lab.experiment import trust
from tidemark_lab.experiment.backend import MeasuredPhase, Place, Window
from tidemark_lab.experiment.trust import Lateness

MS = 1_000_000
SECOND = 1_000_000_000
PLACE = Place(10, 1)


def phase(**changes):
    values = {"stolen_cpu_fraction": 0.0, "traffic_cpu": 0.2, "switch_cpu": 0.3} | changes
    return MeasuredPhase("one", [], [], **values)


ON_TIME = Lateness(0.4, 2.0)


def test_a_quiet_machine_leaves_no_doubt():
    assert trust.doubts(phase(), ON_TIME, 0) == []
    assert trust.doubts(phase(), None, 0) == []


@pytest.mark.parametrize(
    ("changes", "late", "lost", "says"),
    [
        ({}, ON_TIME, 3, "3 reports lost"),
        ({"stolen_cpu_fraction": 0.031}, ON_TIME, 0, "3.1% of the CPU time"),
        ({"traffic_cpu": 0.97}, ON_TIME, 0, "the senders used 97% of a core"),
        ({"switch_cpu": 0.92}, ON_TIME, 0, "a thread of a switch used 92%"),
        ({}, Lateness(6.25, 9.0), 0, "1 % of the reports came 6.2 ms late"),
    ],
)
def test_each_thing_that_slows_is_told(changes, late, lost, says):
    (found,) = trust.doubts(phase(**changes), late, lost)
    assert says in found


def test_at_the_bounds_a_run_is_trusted_and_everything_above_is_told_at_once():
    at = {"stolen_cpu_fraction": trust.MOST_STOLEN_FRACTION}
    at |= {"traffic_cpu": trust.MOST_CPU, "switch_cpu": trust.MOST_CPU}
    assert trust.doubts(phase(**at), Lateness(trust.MOST_LATE_P99_MS, 50.0), 0) == []
    above = {k: v + 0.01 for k, v in at.items()}
    assert len(trust.doubts(phase(**above), Lateness(5.1, 50.0), 1)) == 5


def test_simulated_time_waits_for_the_machine():
    """Lateness there depends on the importer, not the run; a lost report always counts."""
    simulated = phase(stolen_cpu_fraction=None, traffic_cpu=None, switch_cpu=None)
    assert trust.doubts(simulated, Lateness(900.0, 900.0), 0) == []
    assert trust.doubts(simulated, Lateness(900.0, 900.0), 2) == ["2 reports lost"]


def capture(folder, rows):
    """`rows`: node, port, departure and reception, ns."""
    folder.mkdir()
    names = ("node_id", "egress_port", "egress_ns", "rx_ns")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    kinds = (pa.uint32(), pa.uint32(), pa.uint64(), pa.uint64())
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    pq.write_table(pa.table(columns, schema=schema), folder / "postcards-1.parquet")
    return folder


def window(seconds):
    return Window(0, seconds * SECOND, 0, seconds * SECOND)


def test_lateness_is_above_the_earliest_of_each_second_as_the_clocks_drift(tmp_path):
    """The receiver's clock is 7 s ahead and gains 1 ms per second: only one packet in fifty is
    late, by 8 ms."""
    rows = []
    for k in range(3000):
        departure = k * MS
        ahead = 7 * SECOND + k // 1000 * MS
        rows.append((10, 1, departure, departure + ahead + (8 * MS if k % 50 == 7 else 0)))
    found = trust.lateness(capture(tmp_path / "c", rows), PLACE, window(3))
    assert found == Lateness(pytest.approx(8.0), pytest.approx(8.0))
    # One in two hundred is too few for the percentile.
    rows = [
        (n, p, e, r - (8 * MS if k % 200 != 7 and k % 50 == 7 else 0))
        for k, (n, p, e, r) in enumerate(rows)
    ]
    found = trust.lateness(capture(tmp_path / "d", rows), PLACE, window(3))
    assert found == Lateness(pytest.approx(0.0), pytest.approx(8.0))


def test_lateness_is_of_one_port_in_one_phase(tmp_path):
    rows = [(10, 1, k * MS, k * MS) for k in range(100)]
    # Late packets of another node, of another port, and after the phase.
    rows += [(11, 1, 5 * MS, 99 * MS), (10, 2, 5 * MS, 99 * MS), (10, 1, SECOND, SECOND + 9 * MS)]
    folder = capture(tmp_path / "c", rows)
    assert trust.lateness(folder, PLACE, window(1)) == Lateness(0.0, 0.0)
    assert trust.lateness(folder, Place(12, 1), window(1)) is None
    (tmp_path / "empty").mkdir()
    assert trust.lateness(tmp_path / "empty", PLACE, window(1)) is None


def test_flows_whose_control_the_kernel_did_not_run_are_counted(tmp_path):
    assert trust.flooding(tmp_path, PLACE, Window(0, SECOND, 0, 0)) == 0
    first = 0x7FFFFFFF
    rows = [
        # Flow, time, window, threshold, port.
        (1, 1, 10, first, 1),
        (2, 2, 270_665_768, 2_165_326_096, 1),
        (2, 3, 541_331_529, 2_165_326_096, 1),
        (3, 4, 7, 28_751_925, 1),
        (4, 5, 7, 28_751_925, 2),
        (5, SECOND, 7, 28_751_925, 1),
    ]
    columns = ("flow_id", "time_ns", "cwnd_segments", "ssthresh_segments", "egress_port")
    table = {
        name: list(column) for name, column in zip(columns, zip(*rows, strict=True), strict=True)
    }
    pq.write_table(
        pa.table(table | {"node_id": [PLACE.node] * len(rows)}), tmp_path / "tcp_probe-0000.parquet"
    )
    flows = trust.flooding(tmp_path, PLACE, Window(0, SECOND, 0, 0))
    assert flows == 2
    (found,) = trust.doubts(phase(), ON_TIME, 0, flows)
    assert "gave 2 flows an impossible window" in found
