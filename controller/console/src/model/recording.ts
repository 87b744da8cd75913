// SPDX-License-Identifier: Apache-2.0
// The record of one port kept in the browser.

import { Series } from './series';
import type { SeriesColumns } from './types';

export const COLUMNS = [
  'occP50',
  'occP99',
  'occMax',
  'limit',
  'utilisation',
  'loss',
  'delayP50',
  'delayP99',
  'delayMax',
  'drops',
] as const;
export type Column = (typeof COLUMNS)[number];

/** Rows kept: two minutes at 10 ms, twenty at 100 ms. */
const CAPACITY = 12_000;

export class Recording {
  readonly series = new Series<Column>(COLUMNS, CAPACITY);
  /** Seconds per row. */
  step = 0.1;

  /** Adds what is new in `columns`; returns how many rows were. */
  add(columns: SeriesColumns): number {
    if (columns.stepSeconds > 0) this.step = columns.stepSeconds;
    let added = 0;
    columns.time.forEach((t, i) => {
      const row = Object.fromEntries(COLUMNS.map((c) => [c, columns[c][i] ?? null])) as Record<Column, number | null>;
      if (this.series.push(t, row)) added += 1;
    });
    return added;
  }
}
