# SPDX-License-Identifier: Apache-2.0
"""Iterated advice: advise, run again at the advised limit, three rounds.

| module | what it holds |
|---|---|
| `rounds` | the loop over a back end, what was predicted against what came, the verdict; pure |
| `backend` | what a back end is |
| `simulated` | ns-3: a run at each limit, imported and advised on offline |
| `embedded` | real TCP through `tidemark-switch`, the controller live, advice applied by its API |
| `ns3` | finding the ns-3 wheel, compiling the scenario, running it |
| `network` | the flows of a simulated traffic; pure |
| `traffics` | the traffics and their targets |
| `run` | the command |
| `record` | what is kept of the rounds |
| `table` | the results as text |
"""
