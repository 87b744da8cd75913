// SPDX-License-Identifier: Apache-2.0
// The verdict's curve: the outcome at any limit between its points, and the axis of limits in its
// picture.

import type { CurvePoint, Interval, Prediction } from './types';

/** Interpolates between two values; by their logarithms if both are above 0 and `log`. */
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
 * Returns the outcome expected at a limit: at a point of the curve that point, between two points
 * by the logarithm of the limit. Null beyond the curve.
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
    // Delays grow in proportion to the limit.
    delayMs: blend(p.delayMs, q.delayMs, share, true),
    delayMeanMs: blend(p.delayMeanMs, q.delayMeanMs, share, true),
  };
}

/** Returns the place of a limit on a logarithmic axis, 0 to 1; outside if it is beyond. */
export function part([low, high]: readonly [number, number], bytes: number): number {
  return Math.log(bytes / low) / Math.log(high / low);
}

/** Returns the limit at a place of that axis. */
export function limitAt([low, high]: readonly [number, number], at: number): number {
  return low * (high / low) ** at;
}
