// SPDX-License-Identifier: Apache-2.0
// The record of one port that is kept in the browser.

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
  'arrivals',
] as const;
export type Column = (typeof COLUMNS)[number];

/** Maximum number of rows: twenty minutes at 100 ms. */
const CAPACITY = 12_000;

/** Windows up to this length are shown interval by interval, longer ones at 100 ms. */
const FINE_WINDOW = 10;
const COARSE_STEP = 0.1;
/** Rows further apart than this many steps have a hole between them. */
const HOLE = 1.5;
/** Number of consecutive answers with another step before it is believed. */
const PATIENCE = 5;

export class Recording {
  readonly series = new Series<Column>(COLUMNS, CAPACITY);
  /** Seconds per row. */
  step = COARSE_STEP;
  private refused = 0;
  private readonly fine: boolean;
  private readonly span: number;

  /** Creates a record to show the last `window` seconds. */
  constructor(window: number) {
    this.fine = window <= FINE_WINDOW;
    this.span = Math.max(30, window * 1.2);
  }

  /** Whether the record can show a window of this length at its resolution. */
  matches(window: number): boolean {
    return this.fine === window <= FINE_WINDOW && this.span >= window;
  }

  /**
   * Returns the query for the controller: all of the span at first, then the new part; null if
   * there is nothing to ask for. Its answer has steps of the wanted length if `max_points` is the
   * number of such steps, on a grid if `from_ns` is.
   */
  query(startNs: number, now: number) {
    const last = this.series.lastTime;
    const nowNs = startNs + now * 1e9;
    const stepNs = last === null && this.fine ? 1e7 : this.step * 1e9;
    const since = last === null ? Math.max(startNs, nowNs - this.span * 1e9) : startNs + last * 1e9;
    // Ask for the newest row again: it may have been incomplete.
    const from = Math.floor(since / stepNs + 0.5) * stepNs;
    const steps = Math.floor((nowNs - from) / stepNs + 1e-6);
    return steps < 1 ? null : { from_ns: from, to_ns: from + steps * stepNs, max_points: steps };
  }

  /** Adds the new rows of `columns`; returns their number. */
  add(columns: SeriesColumns): number {
    if (columns.time.length === 0 || !this.takes(columns.stepSeconds)) return 0;
    let added = 0;
    columns.time.forEach((t, i) => {
      // Missing steps are a hole too: no line crosses them.
      const last = this.series.lastTime;
      if (last !== null && t - last > HOLE * this.step) this.series.push(last + this.step, {});
      const row = Object.fromEntries(COLUMNS.map((c) => [c, columns[c][i] ?? null])) as Record<Column, number | null>;
      if (this.series.push(t, row)) added += 1;
    });
    return added;
  }

  /**
   * Whether rows of this step belong here. If the controller has only a part of the requested span,
   * it answers in finer steps; the next answer has all of it. A lasting change (another interval)
   * starts a new record.
   */
  private takes(step: number): boolean {
    const first = this.series.length === 0;
    const wanted = first ? this.fine || step > COARSE_STEP * 0.99 : Math.abs(step - this.step) < this.step * 0.01;
    if (wanted) {
      this.refused = 0;
      this.step = step;
      return true;
    }
    this.refused += 1;
    if (this.refused <= PATIENCE) return false;
    this.series.clear();
    this.refused = 0;
    this.step = step;
    return true;
  }
}
