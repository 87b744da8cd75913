# SPDX-License-Identifier: Apache-2.0
"""What the tests share: a P4Runtime client, reports, slow ports, the base class."""
