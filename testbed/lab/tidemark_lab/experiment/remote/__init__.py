# SPDX-License-Identifier: Apache-2.0
"""Real TCP between hosts reached by SSH, through switches that are there.

| module | what it holds |
|---|---|
| `model` | the table `remote` of EXPERIMENT.toml |
| `ssh` | command lines of ssh and scp, and what runs on the hosts; pure |
| `steps` | the things that a run does, each in words and as it is done |
| `script` | the steps of a plan, in order; pure |
| `configs` | of the collector here and the traffic there; pure |
| `clocks` | clocks of the hosts against that of this machine; one truth of many |
| `session` | programs and connections of a run, and ending them |
| `run` | a run while it goes on, and putting back what it changed |
| `back_end` | what can be run, and running it |
"""
