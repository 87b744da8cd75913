# SPDX-License-Identifier: Apache-2.0
"""Experiments for tests."""

import copy

BASE = {
    "version": 1,
    "name": "x",
    "topology": {
        "switches": [{"name": "s1", "rate": "20mbit"}],
        "hosts": [{"name": "near", "rtts": ["20ms", "40ms"]}],
    },
    "traffic": {"persistent": [{"name": "long", "count": 4, "hosts": "near"}]},
    "phases": [{"name": "one", "limit": "1bdp", "duration": "10s"}],
}

TWO_SWITCHES = {
    **BASE,
    "topology": {
        "switches": [{"name": "first", "rate": "10mbit"}, {"name": "second", "rate": "30mbit"}],
        "hosts": [
            {"name": "far", "rtts": ["30ms"]},
            {"name": "near", "rtts": ["20ms"], "switch": "second"},
        ],
    },
    "traffic": {
        "persistent": [
            {"name": "both", "count": 6, "hosts": "far", "bottleneck": "first"},
            {"name": "one", "count": 2, "hosts": "near"},
        ]
    },
}


# Addresses of the hosts of BASE.
REMOTE = {
    "senders": [
        {
            "destination": f"root@a{k}",
            "address": f"10.0.0.1{k}",
            "hosts": "near",
            "rtt": f"{20 * k}ms",
        }
        for k in (1, 2)
    ],
    "receiver": {
        "destination": "lab@rx",
        "port": 2222,
        "identity_file": "/keys/lab",
        "options": ["UserKnownHostsFile=/keys/known"],
        "address": "10.0.0.250",
    },
    "switches": [{"name": "s1", "node": 7, "port": 3, "node_settings": {"profile": "tofino"}}],
    "collector": {"listen": ["192.0.2.1:32766"]},
    "controller": {"url": "http://192.0.2.2:8080", "token_file": "controller.token"},
}


def document(base=None, **changes):
    """Returns a copy of a document; `traffic__persistent__0__count=9` changes a value."""
    out = copy.deepcopy(base or BASE)
    for path, value in changes.items():
        *steps, last = path.split("__")
        here = out
        for step in steps:
            here = here[int(step)] if step.isdigit() else here.setdefault(step, {})
        here[int(last) if last.isdigit() else last] = value
    return out
