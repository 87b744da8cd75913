# SPDX-License-Identifier: Apache-2.0
"""chDB (ClickHouse's engine, in this process) behind ClickHouse's HTTP interface.

For tests and small set-ups without a server. One query at a time, no users, no TLS: bind it to
loopback. `docs/how-to/clickhouse.md` lists the supported parts of the interface.
"""
