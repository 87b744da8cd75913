// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { verdictState } from '../api/verdict';
import { limitAt, outcomeAt, part } from './outlook';
import type { CurvePoint } from './types';

const at = (v: number) => ({ value: v, low: v / 2, high: v * 2 });
const point = (bufferBytes: number, utilisation: number, loss: number, ms: number): CurvePoint => ({
  bufferBytes,
  predicted: { utilisation: at(utilisation), lossRate: at(loss), delayMs: at(ms), delayMeanMs: at(ms / 2) },
});
const CURVE = [point(100_000, 0.9, 0.04, 8), point(400_000, 1, 0.0025, 32)];

describe('a limit between the points of the curve', () => {
  it('has the value of a point at that point', () => {
    const [first, last] = CURVE;
    expect(outcomeAt(CURVE, 100_000)).toBe(first?.predicted);
    expect(outcomeAt(CURVE, 400_000)).toBe(last?.predicted);
  });

  it('follows power laws of loss and delay, with their ranges', () => {
    // Loss goes with B^-2 here, delay with B: both exact at twice the limit.
    const o = outcomeAt(CURVE, 200_000);
    expect(o?.lossRate?.value).toBeCloseTo(0.01, 12);
    expect(o?.lossRate?.low).toBeCloseTo(0.005, 12);
    expect(o?.lossRate?.high).toBeCloseTo(0.02, 12);
    expect(o?.delayMs?.value).toBeCloseTo(16, 9);
    expect(o?.delayMeanMs?.value).toBeCloseTo(8, 9);
    expect(o?.utilisation?.value).toBeCloseTo(0.95, 12);
  });

  it('is not known beyond the curve, nor where a quantity is not', () => {
    expect(outcomeAt(CURVE, 99_999)).toBeNull();
    expect(outcomeAt(CURVE, 400_001)).toBeNull();
    expect(outcomeAt([], 1)).toBeNull();
    const [first, last] = CURVE as [CurvePoint, CurvePoint];
    const holed = [first, { ...last, predicted: { ...last.predicted, lossRate: null } }];
    expect(outcomeAt(holed, 200_000)).toMatchObject({ lossRate: null, delayMs: { value: expect.closeTo(16) } });
    // There is no logarithm of a loss of 0.
    const none = [first, point(400_000, 1, 0, 32)];
    expect(outcomeAt(none, 200_000)?.lossRate?.value).toBeCloseTo(0.02, 12);
  });

  it('lies between its neighbours on a recorded curve', () => {
    const v = verdictState(JSON.parse(readFileSync(new URL('../../dev/fixtures/verdict.json', import.meta.url), 'utf8')));
    const curve = v?.curve ?? [];
    expect(curve.length).toBeGreaterThan(20);
    for (const [i, p] of curve.entries()) {
      const q = curve[i + 1];
      if (!q) break;
      const o = outcomeAt(curve, Math.sqrt(p.bufferBytes * q.bufferBytes));
      for (const name of ['utilisation', 'lossRate', 'delayMs', 'delayMeanMs'] as const) {
        const [a, b] = [p.predicted[name]?.value ?? Number.NaN, q.predicted[name]?.value ?? Number.NaN];
        expect(o?.[name]?.value, `${name} after ${p.bufferBytes}`).toBeGreaterThanOrEqual(Math.min(a, b) - 1e-12);
        expect(o?.[name]?.value, `${name} after ${p.bufferBytes}`).toBeLessThanOrEqual(Math.max(a, b) + 1e-12);
      }
    }
  });
});

describe('the axis of limits', () => {
  it('finds a place again', () => {
    for (const bytes of [40_000, 150_000, 1_000_000]) expect(limitAt([40_000, 1e6], part([40_000, 1e6], bytes))).toBeCloseTo(bytes, 6);
    expect(part([1, 100], 10)).toBeCloseTo(0.5, 12);
  });
});
