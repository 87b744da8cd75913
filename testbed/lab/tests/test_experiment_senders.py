# SPDX-License-Identifier: Apache-2.0
"""Flows of an experiment: their round trips and congestion controls."""

from collections import Counter

import pytest
from experiment_files import document

from tidemark_lab.experiment import load
from tidemark_lab.experiment.plan import Plan

CONTROLS = ["reno", "cubic", "bbr", "scalable"]


@pytest.mark.parametrize(
    ("hosts", "controls"), [(1, 2), (1, 4), (2, 2), (2, 4), (3, 2), (3, 4), (4, 2), (4, 3), (5, 4)]
)
def test_every_control_is_used_as_often_with_every_round_trip(hosts, controls):
    doc = document(
        topology__hosts__0__rtts=[f"{20 + k}ms" for k in range(hosts)],
        traffic__persistent__0__congestion_control=CONTROLS[:controls],
        traffic__persistent__0__count=2 * hosts * controls,
    )
    flows = Plan.of(load.check(doc, "x"), 1).flows
    used = Counter((f.host.rtt_s, f.congestion_control) for f in flows)
    assert len(used) == hosts * controls and set(used.values()) == {2}
    # As long as there are enough flows, none is left out.
    first = {f.congestion_control for f in flows[:controls]}
    assert hosts < controls or len(first) == controls
