# SPDX-License-Identifier: Apache-2.0
"""BMv2 (`simple_switch_grpc`) as a run's switch."""
