# SPDX-License-Identifier: Apache-2.0
"""Figures from the packets of any run.

| module | what it holds |
|---|---|
| `source` | which ports and phases a directory has |
| `data` | packets and senders' windows of one of them, as arrays |
| `series` | what is computed from them; pure |
| `kinds` | the figures |
| `command` | `figures RUNS...` |
"""
