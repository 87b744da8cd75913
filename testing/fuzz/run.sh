#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets of a program (all, or those named), guided by coverage,
# and runs each for SECONDS (default 600), at low priority; ends with an error at
# the first finding.
#   testing/fuzz/run.sh collector|switch [SECONDS] [TARGET...]
# Needs no cargo-fuzz and no nightly compiler (RUSTC_BOOTSTRAP); a C++ compiler
# is needed for libFuzzer.
set -eu
cd "$(dirname "$0")"
program=${1:?usage: testing/fuzz/run.sh collector|switch [SECONDS] [TARGET...]}
shift
seconds=600
case "${1:-}" in
  '' | *[!0-9]*) ;;
  *) seconds=$1; shift ;;
esac
# Prints each target with the feature that it requires.
required() {
  awk '/^\[\[bin\]\]/ { name = "" }
    /^name = / && !name { gsub(/"/, "", $3); name = $3; needs = "-" }
    /^required-features/ { gsub(/[][",]/, ""); needs = $3 }
    /^bench = false/ { print name, needs }' Cargo.toml
}
case $program in
  switch) own=$(required | sed -n 's/ switch$//p') ;;
  collector) own=$(required | sed -n '/ switch$/d; s/ .*//p') ;;
  *) echo "$program: no such program; choose collector or switch" >&2; exit 2 ;;
esac
targets=${*:-$own}
targets=$(echo $targets)
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
 -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
export RUSTFLAGS
# The switch's inputs are sequences of choices: their length says nothing.
options=
[ "$program" = switch ] && options="-len_control=0 -max_len=1024"
bins=
features=
for t in $targets; do
  bins="$bins --bin $t"
  features="$features $(required | sed -n "s/^$t //p")"
done
features=$(echo "$features" | tr ' -' '\n\n' | sort -u | tr '\n' ' ')
# shellcheck disable=SC2086
cargo build --release --locked --target "$host" --target-dir target ${features:+--features "$features"} $bins
for t in $targets; do
  mkdir -p "corpus/$t" "artifacts/$t"
  seeds=
  [ -d "seeds/$t" ] && seeds="seeds/$t"
  # shellcheck disable=SC2086
  nice -n 19 "target/$host/release/$t" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 $options \
    -artifact_prefix="artifacts/$t/" -print_final_stats=1 "corpus/$t" $seeds 2>"artifacts/$t.log" ||
    { tail -30 "artifacts/$t.log" >&2; exit 1; }
  printf '%-12s %s executions, %s units of corpus\n' "$t" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "artifacts/$t.log")" \
    "$(find "corpus/$t" -type f | wc -l)"
done
