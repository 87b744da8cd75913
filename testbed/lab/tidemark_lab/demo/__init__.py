# SPDX-License-Identifier: Apache-2.0
"""The demo: measure with the textbook's buffer, apply advice, measure again.

| module | what it holds |
|---|---|
| `options` | what a run of it is told, and the times of its experiment file |
| `phases` | the two phases, and the advice applied between them |
| `conclusion` | summary, comparison with the capture, checks, report |
| `run` | the run itself, from preflight to the end of everything it started |
"""
