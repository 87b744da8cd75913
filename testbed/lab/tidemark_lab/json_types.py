# SPDX-License-Identifier: Apache-2.0
"""JSON objects of other programs, as they are read: any value under a text key."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
