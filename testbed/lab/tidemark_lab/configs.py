# SPDX-License-Identifier: Apache-2.0
"""The configurations of collector and controller for a run."""

from __future__ import annotations

from pathlib import Path

from .json_types import JsonObject
from .preflight import Paths, Ports
from .scenario import (
    COLLECTOR_ADDRESS,
    FRAME_BYTES,
    REPORT_UDP_PORT,
    SWITCH_REPORT_ADDRESS,
    Scenario,
)
from .topology import REPORT_COLLECTOR_MAC, REPORT_SWITCH_MAC

# A lab changes limits on purpose; what protects a network is wider here.
_MIN_LIMIT_PACKETS = 4


def collector(scenario: Scenario, ports: Ports, capture_dir: Path) -> JsonObject:
    return {
        "listen": [f"{COLLECTOR_ADDRESS}:{REPORT_UDP_PORT}"],
        "grpc": {"listen": f"127.0.0.1:{ports.collector}"},
        "http": {"listen": f"127.0.0.1:{ports.collector_metrics}"},
        "capture": {"dir": str(capture_dir)},
        "tcp_probe": {"enabled": True, "clock": "mono_raw", "host": "local"},
        "nodes": {
            str(scenario.node_id): {
                "name": "lab",
                "exporters": [SWITCH_REPORT_ADDRESS],
                "time_unit": "ns",
                "depth_unit": "bytes",
                "ports": {
                    str(scenario.bottleneck_port): {
                        "name": "bottleneck",
                        "capacity_bps": scenario.capacity_bps,
                    }
                },
            }
        },
    }


def controller(
    scenario: Scenario, ports: Ports, paths: Paths, run_dir: Path, observe_s: float
) -> JsonObject:
    """`observe_s`: what the controller waits before it judges a change; longer
    than the phase after it, so that a rollback does not cut the phase short."""
    node, port = scenario.node_id, scenario.bottleneck_port
    return {
        "collectors": [f"127.0.0.1:{ports.collector}"],
        "retention_s": 600.0,
        "http": {
            "listen": f"127.0.0.1:{ports.console}",
            "token_file": str(run_dir / "controller.token"),
        },
        "targets": dict(scenario.targets),
        "control": {
            "mode": "confirm",
            "audit_log": str(run_dir / "audit.jsonl"),
            "min_limit_bytes": _MIN_LIMIT_PACKETS * FRAME_BYTES,
            # The switch's own queue must never be the one that drops.
            "max_limit_bytes": scenario.max_limit_bytes,
            "max_step_factor": 32.0,
            "min_change_interval_s": 5.0,
            "observe_s": observe_s,
        },
        "links": [{"node": node, "port": port}],
        "switches": [
            {
                "node": node,
                "address": f"127.0.0.1:{ports.switch}",
                "provision": provision(scenario, paths),
            }
        ],
    }


def program_files(paths: Paths) -> JsonObject:
    return {
        "p4info": str(paths.p4_dir / "tidemark.p4info.txtpb"),
        "program": str(paths.p4_dir / "tidemark.json"),
    }


def provision(scenario: Scenario, paths: Paths) -> JsonObject:
    port = scenario.bottleneck_port
    return {
        **program_files(paths),
        "flood_ports": [h.port for h in scenario.hosts],
        "forward": [{"mac": h.mac, "port": h.port} for h in scenario.hosts],
        "watch": [{"protocol": 6, "egress_port": port}],
        "reports": {
            "port": scenario.report_port,
            "node_id": scenario.node_id,
            "src_mac": REPORT_SWITCH_MAC,
            "dst_mac": REPORT_COLLECTOR_MAC,
            "src_ip": SWITCH_REPORT_ADDRESS,
            "dst_ip": COLLECTOR_ADDRESS,
            "udp_port": REPORT_UDP_PORT,
        },
        "limits": {str(port): scenario.limit},
    }
