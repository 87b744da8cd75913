# SPDX-License-Identifier: Apache-2.0
"""The papers' figures from our own packets, with theory and the paper's values drawn in.

| module | content |
|---|---|
| `paper` | figures and checks, whose tolerances are fixed in code before any run |
| `study` | the runs of a paper: those needed and those that exist |
| `runs` | reading captures of experiments |
| `repetitions` | merging the figures of several repetitions |
| `flows` | rates and losses of single flows and transfers |
| `utb` and `utb_*` | Updating the Theory of Buffer Sizing |
| `authors` | the tables that its authors published |
| `bscl`, `bscl_mix`, `bscl_few`, `bscl_table` | Buffer Sizing for Congested Links |
| `srb` | Sizing Router Buffers |
| `oi`, `oi_flows` | Open Issues in Router Buffer Sizing |
| `ngi` and `ngi_*` | NGI 2006: buffers for non-bottlenecked and elastic flows |
| `report` | report.html, figures as SVG, their data as CSV |
| `command` | `paper NAME`: the experiments, then the report |
"""
