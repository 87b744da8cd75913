// SPDX-License-Identifier: Apache-2.0
// Wall-clock times for the charts' time axis, which counts seconds of the switch's clock from its
// first report.

/** Smaller corrections are only jitter in the arrival of telemetry. */
const JITTER_MS = 250;

let startUnixMs: number | null = null;

/** Sets the Unix time of the axis' zero; small corrections do not move the axis. */
export function setClock(unixMs: number | null): void {
  if (unixMs === null || startUnixMs === null || Math.abs(unixMs - startUnixMs) > JITTER_MS) startUnixMs = unixMs;
}

export function unixMsOf(seconds: number): number | null {
  return startUnixMs === null ? null : startUnixMs + seconds * 1000;
}

function two(v: number): string {
  return String(v).padStart(2, '0');
}

/** Local wall-clock time with `decimals` of the second, at most three; empty if unknown. */
export function clockText(seconds: number, decimals = 0): string {
  const ms = unixMsOf(seconds);
  if (ms === null) return '';
  const unit = 10 ** (3 - decimals);
  const d = new Date(Math.round(ms / unit) * unit);
  const whole = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  return decimals > 0 ? `${whole}.${String(d.getMilliseconds()).padStart(3, '0').slice(0, decimals)}` : whole;
}

/** Local date; empty if unknown. */
export function dateText(seconds: number): string {
  const ms = unixMsOf(seconds);
  if (ms === null) return '';
  const d = new Date(ms);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

/** Offset of local time from UTC at a time: `UTC`, `UTC+1`, `UTC-3:30`. */
export function zoneText(seconds: number): string {
  const minutes = -new Date(unixMsOf(seconds) ?? 0).getTimezoneOffset();
  if (minutes === 0) return 'UTC';
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '-' : '+'}${hours}${rest > 0 ? `:${two(rest)}` : ''}`;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Steps between round times of day, ms. */
const STEPS_MS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((s) => s * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((m) => m * MINUTE),
  ...[1, 2, 3, 6, 12, 24].map((h) => h * HOUR),
];

/** Returns about `wanted` round times of day from `from` to `to` (seconds of the axis), with labels; none if the time of day is unknown. */
export function clockTicks(from: number, to: number, wanted: number): { at: number[]; labels: string[] } {
  const start = unixMsOf(0);
  if (start === null || !(to > from)) return { at: [], labels: [] };
  const least = ((to - from) * 1000) / Math.max(1, wanted);
  const step = STEPS_MS.find((s) => s >= least) ?? 24 * HOUR;
  // Times of day are round in the reader's time zone.
  const zone = new Date(start).getTimezoneOffset() * MINUTE;
  const local = (seconds: number): number => start + seconds * 1000 - zone;
  const at: number[] = [];
  for (let k = Math.ceil(local(from) / step); k * step <= local(to); k += 1) at.push((k * step + zone - start) / 1000);
  const decimals = step >= SECOND ? 0 : 3 - Math.floor(Math.log10(step));
  return { at, labels: at.map((s) => clockText(s, decimals)) };
}
