# SPDX-License-Identifier: Apache-2.0
"""The engine's rights: tables in its own directory, and nothing else.

The engine has one user without a password. This module grants that user's rights, and the engine
checks them: table functions and engines that reach files, URLs or other servers, SYSTEM and BACKUP
are not granted. `statements.check` refuses what the engine has no grants for.
"""

from __future__ import annotations

import os
from pathlib import Path
from xml.sax.saxutils import escape

# Table engines that stay inside the directory.
ENGINES = (
    "MergeTree", "ReplacingMergeTree", "SummingMergeTree", "AggregatingMergeTree",
    "Memory", "Null",
)  # fmt: skip
GRANTS = (
    "GRANT SHOW, SELECT, INSERT, ALTER, CREATE DATABASE, CREATE TABLE, CREATE VIEW, "
    "DROP, TRUNCATE, OPTIMIZE ON *.*",
    *(f"GRANT TABLE ENGINE ON {engine}" for engine in ENGINES),
)

_USERS = """<clickhouse>
  <profiles><default>
    <max_execution_time>{seconds}</max_execution_time>
    <constraints><max_execution_time><min>1</min><max>{seconds}</max></max_execution_time></constraints>
  </default></profiles>
  <quotas><default></default></quotas>
  <users><default>
    <password></password>
    <networks><ip>127.0.0.1</ip><ip>::1</ip></networks>
    <profile>default</profile>
    <quota>default</quota>
    <grants>{grants}</grants>
  </default></users>
</clickhouse>
"""
_CONFIG = """<clickhouse>
  <users_config>{users}</users_config>
  <access_control_improvements>
    <enable_read_write_grants>true</enable_read_write_grants>
    <table_engines_require_grant>true</table_engines_require_grant>
  </access_control_improvements>
</clickhouse>
"""


def write_config(directory: Path, query_s: int) -> Path:
    """Writes the engine's configuration to `directory`; returns its path.

    Queries run one at a time, for at most `query_s` each, whatever limit they request.
    """
    access = directory / "access"
    access.mkdir(mode=0o700, exist_ok=True)
    users = access / "users.xml"
    grants = "".join(f"<query>{escape(g)}</query>" for g in GRANTS)
    _write(users, _USERS.format(grants=grants, seconds=query_s))
    config = access / "config.xml"
    _write(config, _CONFIG.format(users=escape(str(users.resolve()))))
    return config


def _write(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "w") as f:
        f.write(text)
