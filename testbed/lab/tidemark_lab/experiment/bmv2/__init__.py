# SPDX-License-Identifier: Apache-2.0
"""Real Linux TCP through `simple_switch_grpc`; a `tidemark-switch` before it adds the delays."""
