# SPDX-License-Identifier: Apache-2.0
"""Iterated advice: advise, run again at the advised limit, three rounds.

| module | what it holds |
|---|---|
| `rounds` | the loop over a back end, what was predicted against what came, the verdict; pure |
| `simulated` | a run of ns-3 at each limit, advised on offline |
| `controlled` | real TCP, the controller live, advice applied by its API |
| `judge` | the command |
| `table` | the results as text |
"""
