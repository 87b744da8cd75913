# SPDX-License-Identifier: Apache-2.0
"""Experiments as data: a file says what is run, a back end runs it, a table has the results.

| module | what it holds |
|---|---|
| `model`, `traffic`, `sizes`, `quantities` | what EXPERIMENT.toml may say |
| `load`, `grid` | reading it, errors with the path of the key, the points of its grid |
| `plan` | every quantity worked out; the same for every back end; pure |
| `backend` | what a back end is |
| `embedded/` | real TCP through `tidemark-switch` |
| `bmv2/` | the same through `simple_switch_grpc` |
| `simulated` | ns-3 |
| `remote/` | real TCP between hosts over SSH, through switches that are there |
| `live` | settings and limits at a running controller |
| `traffic_spec` | what tidemark-traffic is to send |
| `execute`, `store` | running what is not there yet; directories of runs |
| `pace` | how long simulated runs take |
| `rows`, `trust`, `columns` | from a capture and a truth to rows; whether the machine kept up |
| `table`, `compare` | all rows of many runs; two of them side by side |
| `command`, `describe` | the commands; what a run says of where it was made |
| `reference` | JSON Schema and reference page, generated |
"""
