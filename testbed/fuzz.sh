#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets of DIRECTORY (all, or those named), guided by coverage,
# and runs each for SECONDS (default 600), at low priority; ends with an error at
# the first finding.
#   testbed/fuzz.sh DIRECTORY [SECONDS] [TARGET...]
# Needs no cargo-fuzz and no nightly compiler (RUSTC_BOOTSTRAP); a C++ compiler
# is needed for libFuzzer.
set -eu
cd "${1:?usage: testbed/fuzz.sh DIRECTORY [SECONDS] [TARGET...]}"
shift
seconds=600
case "${1:-}" in
  '' | *[!0-9]*) ;;
  *) seconds=$1; shift ;;
esac
targets=${*:-$(sed -n '/^\[\[bin\]\]/{n;s/^name = "\(.*\)"$/\1/p;}' Cargo.toml)}
targets=$(echo $targets)
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
 -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
export RUSTFLAGS
# libFuzzer's, of this directory.
options=
[ -f options ] && options=$(cat options)
bins=
for t in $targets; do
  bins="$bins --bin $t"
done
# What the targets asked for require, as Cargo.toml says.
features=$(awk -v asked=" $targets " '
  /^name = / { gsub(/"/, "", $3); name = $3 }
  /^required-features/ && index(asked, " " name " ") { gsub(/[][",]/, ""); for (i = 3; i <= NF; i++) print $i }
' Cargo.toml | sort -u | tr '\n' ' ')
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
