# SPDX-License-Identifier: Apache-2.0
"""Client for the controller's REST interface (docs/reference/api.md)."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

from .errors import LabError
from .json_types import JsonObject


class ApiError(LabError):
    """The controller refused a request; `status` is the HTTP status, or 0 if it is unreachable."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


class Controller:
    """A client of one controller. Every failure raises ApiError."""

    def __init__(self, url: str, token: str, timeout_s: float = 10.0):
        self.url = url.rstrip("/")
        self._token = token
        self._timeout_s = timeout_s
        # Bypasses any proxy that the environment names: the controller is on loopback.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str) -> JsonObject:
        return self._request("GET", path, None)

    def post(self, path: str, body: JsonObject) -> JsonObject:
        return self._request("POST", path, body)

    def _request(self, method: str, path: str, body: JsonObject | None) -> JsonObject:
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"},
        )
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise ApiError(
                f"controller: {method} {path}: {error.code} {_message(error)}", error.code
            ) from error
        except (OSError, ValueError) as error:
            raise ApiError(f"controller: {method} {path}: {error}", 0) from error


def _message(error: urllib.error.HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        return json.loads(text)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return text[:300]
