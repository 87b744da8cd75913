# SPDX-License-Identifier: Apache-2.0
"""Real Linux TCP through `simple_switch_grpc`, with a `tidemark-switch` before it as the long path.

| module | what it holds |
|---|---|
| `layout` | of `embedded`, with the path's places; pure |
| `network` | making it |
| `session` | the running programs |
| `back_end` | what can be run, and what makes a row doubtful |
"""
