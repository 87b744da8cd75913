# SPDX-License-Identifier: Apache-2.0
"""Checks where requests come from: pages of other sites in a local browser are refused."""

from __future__ import annotations

from collections.abc import Mapping

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def host_name(host: str) -> str:
    """Returns the name in a Host header, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def foreign(headers: Mapping[str, str], hosts: frozenset[str]) -> str | None:
    """Returns why a request with these headers is refused; None if it is allowed."""
    host = headers.get("Host", "")
    if host_name(host) not in hosts:
        return f"this front does not answer to the name {host!r}: name it with --host"
    if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return "a page of another site may not ask"
    origin = headers.get("Origin")
    if origin and origin.partition("://")[2] != host:
        return f"a page of {origin} may not ask"
    return None
