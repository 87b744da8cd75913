# SPDX-License-Identifier: Apache-2.0
"""Real Linux TCP through `tidemark-switch`, one for each switch of the plan."""
