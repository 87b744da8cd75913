// SPDX-License-Identifier: Apache-2.0
// The readings of the recorder's charts, over a span or for one interval.

import type { Column } from './recording';
import type { Series } from './series';

export interface Reading {
  /** The value over the span, or of the interval. Null if nothing was measured. */
  value: number | null;
  /** The worst interval of the span; null for a single interval. */
  worst: number | null;
}

export interface Readings {
  occP50: Reading;
  occP99: Reading;
  occMax: Reading;
  utilisation: Reading;
  loss: Reading;
  delayP99: Reading;
  /** Number of drops in the whole span. */
  drops: number | null;
  /** The newest limit; null if none was reported. */
  limit: number | null;
  /** Whether anything was measured. */
  known: boolean;
}

type Measured = Series<Column>;

function known(s: Measured, i: number): boolean {
  return s.column('drops')[i] != null || s.column('utilisation')[i] != null;
}

/** Returns the readings of one interval. */
export function ofInterval(s: Measured, i: number): Readings {
  const at = (c: Column): number | null => s.column(c)[i] ?? null;
  const one = (c: Column): Reading => ({ value: at(c), worst: null });
  return {
    occP50: one('occP50'),
    occP99: one('occP99'),
    occMax: one('occMax'),
    utilisation: one('utilisation'),
    loss: one('loss'),
    delayP99: one('delayP99'),
    drops: at('drops'),
    limit: at('limit'),
    known: known(s, i),
  };
}

/** Returns the readings over the measured intervals from `from` to `to`, seconds. */
export function ofSpan(s: Measured, from: number, to: number): Readings {
  const [first, end] = [s.indexAt(from), s.indexAt(to)];
  const cut = (c: Column): number[] => s.column(c).slice(first, end).filter((v) => v !== null);
  const sum = (v: readonly number[]): number | null => (v.length === 0 ? null : v.reduce((a, b) => a + b, 0));
  const mean = (v: readonly number[]): number | null => {
    const all = sum(v);
    return all === null ? null : all / v.length;
  };
  const extreme = (v: readonly number[], pick: (a: number, b: number) => number): number | null => (v.length === 0 ? null : v.reduce((a, b) => pick(a, b)));
  const most = (c: Column): Reading => ({ value: mean(cut(c)), worst: extreme(cut(c), Math.max) });
  const [drops, arrivals] = [sum(cut('drops')), sum(cut('arrivals'))];
  const largest = extreme(cut('occMax'), Math.max);
  const used = cut('utilisation');
  return {
    occP50: most('occP50'),
    occP99: most('occP99'),
    occMax: { value: largest, worst: largest },
    utilisation: { value: mean(used), worst: extreme(used, Math.min) },
    // Over all packets, not the mean of intervals: an interval with few packets counts for little.
    loss: { value: drops !== null && arrivals ? drops / arrivals : null, worst: extreme(cut('loss'), Math.max) },
    delayP99: most('delayP99'),
    drops,
    limit: s.column('limit').slice(first, end).findLast((v) => v !== null) ?? null,
    known: drops !== null || used.length > 0,
  };
}
