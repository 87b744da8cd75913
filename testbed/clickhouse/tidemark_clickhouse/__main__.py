# SPDX-License-Identifier: Apache-2.0
"""`python -m tidemark_clickhouse --path DIR [--listen 127.0.0.1:8123] [--schema F.sql]`."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from .engine import QUERY_S, Engine, EngineError, identifier
from .privileges import PrivilegeError, drop
from .server import Server


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tidemark-clickhouse",
        description="ClickHouse's engine (chDB) behind its HTTP interface. No users, no TLS: "
        "keep it on loopback.",
    )
    parser.add_argument("--path", type=Path, required=True, help="directory of the tables")
    parser.add_argument(
        "--listen",
        type=address,
        default=("127.0.0.1", 8123),
        help="HOST:PORT (default %(default)s)",
    )
    parser.add_argument("--database", default="tidemark", help="made if missing")
    parser.add_argument("--schema", type=Path, help="SQL file applied at the start")
    parser.add_argument("--user", help="become this user; needed when started as root")
    parser.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name of this machine that requests may use, besides address and localhost",
    )
    parser.add_argument(
        "--query-seconds",
        type=int,
        default=QUERY_S,
        metavar="S",
        help="longest time of a query, whatever it asks for (default %(default)s): they run one "
        "at a time",
    )
    parser.add_argument("--verbose", action="store_true", help="log every request")
    args = parser.parse_args()
    logging.basicConfig(level=logging.DEBUG if args.verbose else logging.INFO)
    try:
        schema = args.schema.read_text() if args.schema else ""
        # Before dropping privileges, so that low ports work.
        server = Server(args.listen, args.host)
        drop(args.user, args.path)
        engine = Engine(args.path, max(args.query_seconds, 1))
        engine.query(f"CREATE DATABASE IF NOT EXISTS {identifier(args.database)}")
        engine.script(schema, args.database)
        server.engine = engine
    except (EngineError, PrivilegeError, OSError) as e:
        print(f"tidemark-clickhouse: {e}", file=sys.stderr)
        return 1
    for number in (signal.SIGINT, signal.SIGTERM):
        # shutdown() waits for serve_forever, which this handler interrupts.
        signal.signal(
            number, lambda *_: threading.Thread(target=server.shutdown, daemon=True).start()
        )
    host, port = server.server_address[:2]
    print(
        f"ready: http://{host}:{port}/ database {args.database}, tables in {args.path}", flush=True
    )
    server.serve_forever(poll_interval=0.05)
    server.server_close()
    engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
