# SPDX-License-Identifier: Apache-2.0
"""Pages and figures in the style of the papers."""
