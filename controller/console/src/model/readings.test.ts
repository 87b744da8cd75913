// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { ofInterval, ofSpan } from './readings';
import { COLUMNS, type Column } from './recording';
import { Series } from './series';

/** A row per 0.1 s; null means that the switch was silent. */
function seriesOf(rows: readonly (Partial<Record<Column, number>> | null)[]): Series<Column> {
  const s = new Series<Column>(COLUMNS, 1000);
  for (const [i, r] of rows.entries()) s.push(i / 10, r ?? {});
  return s;
}

const row = (utilisation: number, drops: number, arrivals: number, occupancy: number) => ({
  utilisation, drops, arrivals, loss: drops / arrivals, occP50: occupancy, occP99: 2 * occupancy, occMax: 3 * occupancy, delayP99: occupancy / 1000, limit: 9000,
});
// The second interval has a tenth of the packets, the third is a silence.
const S = seriesOf([row(1, 10, 1000, 1000), row(0.5, 50, 100, 2000), null, row(0.9, 0, 900, 3000)]);

describe('readings of a span', () => {
  it('are means and the worst, loss by packets, and drops of all of it', () => {
    const r = ofSpan(S, 0, 0.4);
    expect(r.utilisation).toEqual({ value: expect.closeTo(0.8, 12), worst: 0.5 });
    expect(r.loss).toEqual({ value: expect.closeTo(60 / 2000, 12), worst: 0.5 });
    expect(r.drops).toBe(60);
    expect(r.occP50).toEqual({ value: 2000, worst: 3000 });
    expect(r.occMax.value).toBe(9000);
    expect(r.delayP99).toEqual({ value: 2, worst: 3 });
    expect(r.limit).toBe(9000);
    expect(ofSpan(S, 0, 0.15).drops).toBe(60);
    expect(ofSpan(S, 0.05, 0.15).drops).toBe(50);
  });

  it('are not known where nothing was measured, and no zero', () => {
    for (const r of [ofSpan(S, 0.15, 0.25), ofInterval(S, 2), ofInterval(S, 77), ofSpan(S, 5, 6)]) {
      expect(r.known).toBe(false);
      for (const v of [r.utilisation, r.loss, r.occP50, r.occMax, r.delayP99]) expect(v).toEqual({ value: null, worst: null });
      expect([r.drops, r.limit]).toEqual([null, null]);
    }
    expect(ofSpan(S, 0, 0.4).known).toBe(true);
  });

  it('of an interval are its values', () => {
    expect(ofInterval(S, 1)).toMatchObject({ utilisation: { value: 0.5, worst: null }, drops: 50, known: true });
  });
});
