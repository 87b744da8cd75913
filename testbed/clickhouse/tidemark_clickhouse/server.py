# SPDX-License-Identifier: Apache-2.0
"""The HTTP front: the part of ClickHouse's interface that clients here use."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from urllib.parse import parse_qsl, urlsplit

from .engine import CODINGS, Engine, EngineError
from .origin import LOOPBACK, foreign
from .statements import ACCESS_DENIED, Refused, check, parse_insert

log = logging.getLogger("tidemark_clickhouse")

# Request parameters that are not settings.
NO_SETTINGS = {
    "query", "database", "user", "password", "default_format", "query_id", "session_id",
    "session_timeout", "session_check", "wait_end_of_query", "buffer_size", "quota_key",
    "compress", "decompress", "enable_http_compression", "send_progress_in_http_headers",
    "http_headers_progress_interval_ms", "role", "stacktrace", "client_protocol_version",
}  # fmt: skip
MAX_BODY_BYTES = 4 << 30


FORBIDDEN = 403


class BadRequest(Exception):
    """A request that cannot be served."""


class Handler(BaseHTTPRequestHandler):
    """A connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        log.debug(format, *args)

    def _answer(self, status: int, body: bytes, code: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-ClickHouse-Server-Display-Name", "tidemark-chdb")
        if code is not None:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.end_headers()
        self.wfile.write(body)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            out = bytearray()
            while size := int(self.rfile.readline().split(b";")[0], 16):
                out += self.rfile.read(size)
                self.rfile.readline()
                if len(out) > MAX_BODY_BYTES:
                    raise BadRequest("the body is too large")
            while self.rfile.readline().strip():
                pass
            return bytes(out)
        length = int(self.headers.get("Content-Length") or 0)
        if length > MAX_BODY_BYTES:
            raise BadRequest("the body is too large")
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionError("the body ended early")
        return body

    def _serve(self, body: bytes, read_only: bool) -> bytes:
        pairs = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        coding = self.headers.get("Content-Encoding", "").lower()
        if coding not in CODINGS:
            raise BadRequest(f"Content-Encoding {coding} is not supported by this front")
        if pairs.get("decompress") == "1":
            raise BadRequest("decompress=1 is not supported by this front; use Content-Encoding")
        database = pairs.get("database") or self.headers.get("X-ClickHouse-Database", "default")
        settings = {
            k: v for k, v in pairs.items() if k not in NO_SETTINGS and not k.startswith("param_")
        }
        sql = pairs.get("query", "")
        if read_only:
            body = b""
        elif found := parse_insert(sql):
            insert, inline = found
            data = inline.encode() + body if inline else body
            self.server.engine.insert(insert, data, coding, database, settings)
            return b""
        text = body.decode()
        if not sql and not read_only and (found := parse_insert(text)):
            insert, inline = found
            self.server.engine.insert(insert, inline.encode(), "", database, settings)
            return b""
        if coding not in ("", "identity"):
            raise BadRequest("only the data of an INSERT may be packed")
        params = {k.removeprefix("param_"): v for k, v in pairs.items() if k.startswith("param_")}
        fmt = pairs.get("default_format") or self.headers.get("X-ClickHouse-Format")
        statement = f"{sql}\n{text}".strip() if sql else text
        check(statement, read_only)
        return self.server.engine.query(
            statement, database, fmt or "TabSeparated", params, settings
        )

    def _handle(self, read_only: bool) -> None:
        try:
            body = self._body()
            if reason := foreign(self.headers, self.server.hosts):
                self._answer(FORBIDDEN, f"{reason}\n".encode(), ACCESS_DENIED)
                return
            self._answer(200, self._serve(body, read_only))
        except EngineError as e:
            self._answer(e.status, f"{e}\n".encode(), e.code)
        except Refused as e:
            status = FORBIDDEN if e.code == ACCESS_DENIED else 400
            self._answer(status, f"{e}\n".encode(), e.code)
        except (BadRequest, ValueError) as e:
            self._answer(400, f"{e}\n".encode(), 0)
        except ConnectionError:
            self.close_connection = True

    def do_POST(self) -> None:
        self._handle(read_only=False)

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        if path.path == "/ping" or (path.path == "/" and not path.query):
            self._answer(200, b"Ok.\n")
        else:
            self._handle(read_only=True)


class Server(ThreadingHTTPServer):
    """Serves one engine, once it exists."""

    engine: Engine
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], hosts: Iterable[str] = ()):
        self.hosts = frozenset({address[0].lower(), *LOOPBACK, *(h.lower() for h in hosts)})
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        """Omits the parent's name look-up."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            log.exception("request of %s", client_address)
