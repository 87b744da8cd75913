# SPDX-License-Identifier: Apache-2.0
"""Real TCP between hosts reached by SSH, through existing switches.

| module | content |
|---|---|
| `model` | the table `remote` of EXPERIMENT.toml |
| `ssh` | command lines of ssh and scp, and scripts for the hosts; pure |
| `steps` | the actions of a run, each with a description and a function |
| `script` | the steps of a plan, in order; pure |
| `configs` | configurations of the collector here and the traffic there; pure |
| `clocks` | offsets of the hosts' clocks from this machine's; merging truth files |
| `session` | programs and connections of a run, and ending them |
| `run` | state of a run in progress, and undoing its changes |
| `back_end` | what can be run, and running it |
"""
