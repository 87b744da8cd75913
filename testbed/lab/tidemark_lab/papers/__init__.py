# SPDX-License-Identifier: Apache-2.0
"""The papers' figures from own packets, with theory and the paper's values drawn in.

| module | what it holds |
|---|---|
| `paper` | what a figure and a check are: the tolerance is fixed in code, before any run |
| `study` | the runs that there are to be, and those that are there |
| `runs` | reading captures of experiments |
| `repetitions` | the figures of several repetitions as one |
| `flows` | what single flows and transfers got |
| `utb` and those that begin with it | Updating the Theory of Buffer Sizing |
| `authors` | the tables that its authors published |
| `bscl`, `bscl_mix`, `bscl_few`, `bscl_table` | Buffer Sizing for Congested Links |
| `srb` | Sizing Router Buffers |
| `oi`, `oi_flows` | Open Issues in Router Buffer Sizing |
| `ngi` and those that begin with it | NGI 2006: buffers for non-bottlenecked and elastic flows |
| `report` | report.html, figures as SVG, their data as CSV |
| `command` | `paper NAME`: the experiments, then the report |
"""
