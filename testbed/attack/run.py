# SPDX-License-Identifier: Apache-2.0
"""The findings of a review of security, tried again: `make attack`.

Each attack starts a collector, a controller or a switch, on loopback with temporary
directories, does what the finding says, and claims what must hold. Where a test of the
programs does that already, it is the attack.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import control
import existing
import grpc_strangers
import http_strangers
import switch_limits
import telemetry
from programs import BIN_DIR, Succeeded


@dataclass(frozen=True)
class Finding:
    """One finding: what it did once, and what does it again."""

    name: str
    once: str
    attack: Callable[[float], str]


FINDINGS = (
    Finding("A0", "believed: estimates and advice move", telemetry.forged),
    Finding("A1", "collector 7.6 GiB and controller 3.1 GiB after 110 s", telemetry.link_spray),
    Finding("A2", "data 12.7 s late until the collector is restarted", telemetry.one_long_delay),
    Finding("A3", "series, estimates and the watch on a change forgotten", telemetry.wipe),
    Finding("A4", "the configured node refused, its losses unseen", telemetry.full_tables),
    Finding("A5", "controller 4.3 GiB, GET of the link 147 MB", telemetry.random_flows),
    Finding("A6", "2.1e11 reports said to be lost", telemetry.mutated),
    Finding("A7", "SIGTERM waits for the end of the flood", telemetry.end_under_flood),
    Finding("B1", "collector 1.3 GiB after 45 s", grpc_strangers.silent_subscribers),
    Finding("B2", "honest agents refused until the restart", grpc_strangers.made_up_agents),
    Finding(
        "B3",
        "whoever reaches the port pushes samples of any host",
        existing.cargo(
            "tidemark-collector/credentials/mutual_tls_takes_samples_of_whom_its_authority_signed",
            "tidemark-collector/credentials/a_token_lets_in_and_others_are_counted",
            "tidemark-collector/credentials/what_would_be_open_or_cannot_work_is_refused_at_start",
        ),
    ),
    Finding("C1", "a dry run pushes the program and writes limits", switch_limits.dry_run),
    Finding("C2", "60 MB written, the range ends at 1 MB", switch_limits.beyond_the_range),
    Finding("C3", "silent for 12 s: age 0.06 s, not stale", control.silent_switch),
    Finding("C4", "a limit on the switch that no record has", control.killed_during_a_write),
    Finding("C5", "the limit applied, 200, nothing told", switch_limits.full_audit_log),
    Finding(
        "C6",
        "forged drops and delays: rolled back, held within the rails",
        existing.cargo(
            "tidemark-controller/control/worse_than_bound_and_before_is_rolled_back",
            "tidemark-controller/control/auto_does_not_go_back_to_a_limit_that_failed",
        ),
    ),
    Finding(
        "C-LOW",
        "links followed, files that everybody reads, one slow switch delays all",
        existing.cargo(
            "tidemark-disk/lib/real::tests::no_link_is_followed_and_nobody_else_reads",
            "tidemark-controller/hung_switch/a_switch_that_never_answers_delays_no_other",
        ),
    ),
    Finding("D1", "a foreign name is answered 200", http_strangers.rebinding),
    Finding("D2", "1000 half requests open after 35 s", http_strangers.connections),
    Finding(
        "D3",
        "wrong tokens neither slowed nor logged; a password in the clear without a word",
        existing.cargo(
            "tidemark-credentials/lib/refusals::tests::a_wrong_token_waits",
            "tidemark-credentials/lib/refusals::tests::"
            "whoever_guesses_at_many_connections_waits_for_each",
            "tidemark-clickhouse/lib/server::tests::a_password_in_the_clear_is_warned_of",
        ),
    ),
    Finding(
        "F1",
        "the same configuration does not start again",
        existing.cargo(
            "tidemark-collector/attack/the_same_configuration_starts_again_after_a_kill"
        ),
    ),
    Finding(
        "F2",
        "the writer stops for good, rows neither on disk nor counted",
        existing.cargo("tidemark-collector/full_disk/a_full_disk_is_told_and_used_again"),
    ),
    Finding(
        "F3",
        "a capture that was killed, or has a gap, says nothing",
        existing.cargo(
            "tidemark-controller/lib/"
            "cli::loaded::tests::a_capture_that_has_a_gap_or_was_not_closed_says_so",
            "tidemark-collector/import/a_recording_that_was_cut_short_is_told",
        ),
    ),
    Finding(
        "G",
        "alive; a backup and its own id are denied",
        existing.cargo(
            "p4runtime-server/server/rpcs::primary_and_backup",
            "p4runtime-server/server/tables::refused_entries_leave_nothing_behind",
            "tidemark-switch/tidemark_program/hostile_frames_do_not_hurt",
        ),
    ),
    Finding(
        "H",
        "no privilege is given up",
        existing.cargo(
            "tidemark-collector/privileges/root_goes_on_without_capabilities",
            "tidemark-controller/tls/root_goes_on_without_capabilities",
            "tidemark-switch/credentials/root_goes_on_without_capabilities",
        ),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    names = [f.name for f in FINDINGS]
    parser.add_argument("--only", help=f"these, comma-separated: {', '.join(names)}")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="of the long ones: how much of them (default 1)"
    )
    args = parser.parse_args()
    wanted = args.only.split(",") if args.only else names
    if unknown := set(wanted) - set(names):
        parser.error(f"--only: there is no {', '.join(sorted(unknown))}")
    if not 0.0 < args.scale <= 10.0:
        parser.error("--scale: above 0 and at most 10")
    if not (BIN_DIR / "tidemark-collector").exists():
        print(f"attack: {BIN_DIR} has no tidemark-collector: run `make build`", file=sys.stderr)
        return 2
    failed = []
    for finding in FINDINGS:
        if finding.name not in wanted:
            continue
        begin = time.monotonic()
        try:
            told, held = finding.attack(args.scale), True
        except Succeeded as e:
            told, held = str(e), False
        except Exception as e:  # an attack that cannot be carried out proves nothing
            traceback.print_exc()
            told, held = f"could not be tried: {e}", False
        if not held:
            failed.append(finding.name)
        word = "held  " if held else "FAILED"
        seconds = time.monotonic() - begin
        print(
            f"{finding.name}  {word}  {told}  (at 63e1e1a: {finding.once}; {seconds:.0f} s)",
            flush=True,
        )
    print(f"attack: {len(wanted) - len(failed)} of {len(wanted)} held", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
