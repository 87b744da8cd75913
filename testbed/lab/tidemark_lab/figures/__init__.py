# SPDX-License-Identifier: Apache-2.0
"""Figures from the packets of any run.

| module | content |
|---|---|
| `source` | ports and phases in a directory |
| `data` | packets and senders' windows of a port, as arrays |
| `series` | values computed from the arrays; pure |
| `kinds` | the figures |
| `command` | `figures RUNS...` |
"""
