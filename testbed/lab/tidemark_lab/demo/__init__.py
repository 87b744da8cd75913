# SPDX-License-Identifier: Apache-2.0
"""The demo: measure with the textbook's buffer, apply advice, measure again.

| module | what it holds |
|---|---|
| `variant` | the experiment file as the options of the demo change it; pure |
| `judge` | options, what is said while it runs, the judgement |
| `conclusion` | summary, comparison with the capture, checks, report |
"""
