# SPDX-License-Identifier: Apache-2.0
"""Controllers on trial: the same steps of N_b, with each controller of the limit in turn.

| module | what it holds |
|---|---|
| `gaussian_process` | regression in one dimension, and where an improvement is expected; pure |
| `search` | a search without a model of the traffic: Bayesian optimisation over windows; pure |
| `controllers` | who sets the limit: fixed rules, the search, Tidemark's auto mode |
| `score` | seconds outside the bounds and changes, step by step; pure |
| `run` | the runs themselves |
| `table` | the results as text |
"""
