# SPDX-License-Identifier: Apache-2.0
"""Rules on trial: on the same traffic, the buffer of each rule in turn on the running
switch, and what came of it.

| module | what it holds |
|---|---|
| `candidates` | which limits are tried: those of the rules, without doubles |
| `hold` | a limit in force, held until its loss rate is known |
| `outcome` | what one limit gave: loss and its range, completion times, fairness |
| `ranking` | the limits in order: targets first, then the smaller buffer |
| `judge` | the command |
| `table` | the results as text |
"""
