#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes dashboards/*.json.

python deploy/grafana/generate.py            # write
python deploy/grafana/generate.py --check    # fail where a file differs
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from source import collector, link, links, packets  # noqa: E402

BOARDS = {"links": links, "link": link, "collector": collector, "packets": packets}


def text(name: str) -> str:
    board = json.loads(json.dumps(BOARDS[name].build().build(), cls=JSONEncoder))
    return json.dumps(given(board), indent=1, sort_keys=True) + "\n"


def given(value: object) -> object:
    """Removes null values: Grafana uses its own defaults."""
    if isinstance(value, dict):
        return {k: given(v) for k, v in value.items() if v is not None}
    return [given(v) for v in value] if isinstance(value, list) else value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for name in BOARDS:
        path = HERE / "dashboards" / f"{name}.json"
        if check and (not path.exists() or path.read_text() != text(name)):
            stale.append(path.name)
        elif not check:
            path.write_text(text(name))
    if stale:
        print(f"stale: {', '.join(stale)}; run deploy/grafana/generate.py", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
