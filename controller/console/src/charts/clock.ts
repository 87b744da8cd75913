// SPDX-License-Identifier: Apache-2.0
// Wall-clock time of the charts' time axis, which counts seconds of the switch's
// clock from its first report.

/** Corrections below this are the jitter of how late telemetry arrives. */
const JITTER_MS = 250;

let startUnixMs: number | null = null;

/** The Unix time of the axis' zero; small corrections do not move the axis. */
export function setClock(unixMs: number | null): void {
  if (unixMs === null || startUnixMs === null || Math.abs(unixMs - startUnixMs) > JITTER_MS) startUnixMs = unixMs;
}

export function unixMsOf(seconds: number): number | null {
  return startUnixMs === null ? null : startUnixMs + seconds * 1000;
}

function two(v: number): string {
  return String(v).padStart(2, '0');
}

/** Local wall-clock time with `decimals` of the second; empty where not known. */
export function clockText(seconds: number, decimals = 0): string {
  const ms = unixMsOf(seconds);
  if (ms === null) return '';
  const d = new Date(decimals > 0 ? Math.round(ms) : Math.round(ms / 1000) * 1000);
  const whole = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  return decimals > 0 ? `${whole}.${String(d.getMilliseconds()).padStart(3, '0')}` : whole;
}
