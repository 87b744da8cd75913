# SPDX-License-Identifier: Apache-2.0
"""Real Linux TCP through `tidemark-switch`, one for each switch of the plan.

| module | what it holds |
|---|---|
| `layout` | names, addresses, ports of everything that a plan needs; pure |
| `network` | making it |
| `configs` | of traffic, collector and controller; pure |
| `session` | the running programs |
| `back_end` | the phases |
"""
