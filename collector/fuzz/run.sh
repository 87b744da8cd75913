#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds every fuzz target of the collector and runs each for SECONDS (default
# 600), at low priority; ends with an error at the first finding.
#   collector/fuzz/run.sh [SECONDS] [TARGET...]
# Needs no cargo-fuzz and no nightly compiler (RUSTC_BOOTSTRAP); a C++ compiler
# is needed for libFuzzer.
set -eu
cd "$(dirname "$0")"
seconds=600
case "${1:-}" in
  '' | *[!0-9]*) ;;
  *) seconds=$1; shift ;;
esac
targets=${*:-report card trace_text perf_ring format_file pcap agent_batch node_config pipeline}
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
 -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
export RUSTFLAGS
bins=
features=
for t in $targets; do
  bins="$bins --bin $t"
  case $t in pcap | agent_batch | node_config) features="--features daemon" ;; esac
done
# shellcheck disable=SC2086
cargo build --release --locked --target "$host" --target-dir target $features $bins
for t in $targets; do
  mkdir -p "corpus/$t" "artifacts/$t"
  seeds=
  [ -d "seeds/$t" ] && seeds="seeds/$t"
  # shellcheck disable=SC2086
  nice -n 19 "target/$host/release/$t" -max_total_time="$seconds" -rss_limit_mb=2048 \
    -artifact_prefix="artifacts/$t/" -print_final_stats=1 "corpus/$t" $seeds 2>"artifacts/$t.log" ||
    { tail -30 "artifacts/$t.log" >&2; exit 1; }
  printf '%-12s %s executions, %s units of corpus\n' "$t" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "artifacts/$t.log")" \
    "$(find "corpus/$t" -type f | wc -l)"
done
