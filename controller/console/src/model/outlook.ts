// SPDX-License-Identifier: Apache-2.0
// The verdict's curve: what to expect at any limit between its points, and which
// limits a picture of it shows.

import type { CurvePoint, Interval, Prediction, Verdict } from './types';

/** Shown below the smallest limit of interest and above the largest: a factor. */
const AROUND = 2;

/** Between two values; by their logarithms where both are above 0 and `log`. */
function between(a: number, b: number, share: number, log: boolean): number {
  if (log && a > 0 && b > 0) return a * (b / a) ** share;
  return a + (b - a) * share;
}

function blend(a: Interval | null, b: Interval | null, share: number, log = false): Interval | null {
  if (!a || !b) return null;
  const of = (name: keyof Interval): number => between(a[name], b[name], share, log);
  return { value: of('value'), low: of('low'), high: of('high') };
}

/**
 * The outcome expected at a limit: at a point of the curve that point, between two
 * of them by the logarithm of the limit. Null beyond the curve.
 */
export function outcomeAt(curve: readonly CurvePoint[], bytes: number): Prediction | null {
  const after = curve.findIndex((p) => p.bufferBytes >= bytes);
  const [b, a] = [curve[after], curve[after - 1]];
  if (!b) return null;
  if (b.bufferBytes === bytes) return b.predicted;
  if (!a || !(a.bufferBytes > 0)) return null;
  const share = Math.log(bytes / a.bufferBytes) / Math.log(b.bufferBytes / a.bufferBytes);
  const [p, q] = [a.predicted, b.predicted];
  return {
    utilisation: blend(p.utilisation, q.utilisation, share),
    // Loss falls with a power of the limit.
    lossRate: blend(p.lossRate, q.lossRate, share, true),
    // Delays grow in proportion to it.
    delayMs: blend(p.delayMs, q.delayMs, share, true),
    delayMeanMs: blend(p.delayMeanMs, q.delayMeanMs, share, true),
  };
}

/** The limits that a picture shows: those in force, advised and measured, with some around them, as far as the curve goes. */
export function limitsShown(v: Verdict): [number, number] | null {
  const [first, last] = [v.curve[0]?.bufferBytes, v.curve.at(-1)?.bufferBytes];
  if (first === undefined || last === undefined || !(first > 0 && last > first)) return null;
  const named = [v.inForceBytes, v.lowBytes, v.setBytes, v.highBytes, ...v.measured.map((m) => m.limitBytes)].filter((b) => b !== null && b > 0) as number[];
  if (named.length === 0) return [first, last];
  const low = Math.max(first, Math.min(...named) / AROUND);
  const high = Math.min(last, Math.max(...named) * AROUND);
  return high > low ? [low, high] : [first, last];
}
