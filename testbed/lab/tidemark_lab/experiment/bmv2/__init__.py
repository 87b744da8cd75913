# SPDX-License-Identifier: Apache-2.0
"""Real Linux TCP through `simple_switch_grpc`, behind a `tidemark-switch` that is the long path."""
