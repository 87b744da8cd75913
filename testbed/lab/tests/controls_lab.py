# SPDX-License-Identifier: Apache-2.0
"""Runs of one congestion control or transport, and the samples from the senders' kernels."""

import json
import os
from collections import defaultdict
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

from tidemark_lab import controls
from tidemark_lab.__main__ import main
from tidemark_lab.experiment import store

# Different from those of other tests.
PORTS = ["--console-port", "18081", "--switch-port", "19759"]
PORTS += ["--collector-port", "19860", "--metrics-port", "19861"]


def need_bpf():
    """Skips the test without BPF support, or fails it under `make test-lab`."""
    lacking = controls.lacking()
    if lacking and "TIDEMARK_BPF" not in os.environ:
        pytest.skip(f"NOT CHECKED, congestion controls as BPF programs: {'; '.join(lacking)}")
    assert not lacking


def run(document, folder):
    """Runs an experiment; returns the run's directory and its record."""
    file = folder / "x.toml"
    file.write_text(tomli_w.dumps(document))
    assert main(["run", str(file), "--out", str(folder), *PORTS]) == 0
    (run_dir,) = store.find([folder])
    return run_dir, json.loads((run_dir / "run.json").read_text())


def packets(run_dir, *columns):
    files = sorted((run_dir / "capture").glob("postcards-*.parquet"))
    return pa.concat_tables([pq.read_table(f, columns=list(columns)) for f in files])


def reductions(run_dir):
    """Thresholds below the preceding window."""
    return [(window, threshold) for window, threshold in thresholds(run_dir) if threshold < window]


def thresholds(run_dir):
    """For each loss or mark: the last window before it, and the new threshold.

    Outside a recovery the kernel reports at least 3/4 of the window, which follows its growth.
    """
    return [
        (window, threshold)
        for states in samples(run_dir, "cwnd_segments", "ssthresh_segments")
        for (window, before), (then, threshold) in pairwise(states)
        if threshold not in (before, (then >> 1) + (then >> 2))
    ]


def samples(run_dir, *columns):
    """The columns of tcp_probe's samples, in order, for each flow."""
    files = sorted((run_dir / "capture").glob("tcp_probe-*.parquet"))
    wanted = ["flow_id", *columns]
    seen = defaultdict(list)
    for row in pa.concat_tables([pq.read_table(f, columns=wanted) for f in files]).to_pylist():
        seen[row["flow_id"]].append(tuple(row[c] for c in columns))
    return list(seen.values())
