// SPDX-License-Identifier: Apache-2.0
// Columns of numbers ordered by time, with a maximum length, so that the page can stay open for
// days.

/** Value of a column; null if nothing was measured. */
export type Cell = number | null;

/** Returns the first index with a time at or after `t`. */
export function indexAt({ time }: { time: ArrayLike<number> }, t: number): number {
  let lo = 0;
  let hi = time.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if ((time[mid] ?? 0) < t) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

export class Series<Name extends string> {
  /** Seconds; strictly increasing. */
  readonly time: number[] = [];
  private readonly columns = new Map<Name, Cell[]>();

  constructor(
    private readonly names: readonly Name[],
    private readonly capacity: number,
  ) {
    for (const n of names) this.columns.set(n, []);
  }

  get length(): number {
    return this.time.length;
  }

  get lastTime(): number | null {
    return this.time.at(-1) ?? null;
  }

  column(name: Name): Cell[] {
    return this.columns.get(name) ?? [];
  }

  /**
   * Adds a row. A row at the last time replaces it; an older row is refused (returns false): after
   * a reconnect the server may repeat rows that we have.
   */
  push(time: number, row: Partial<Record<Name, Cell>>): boolean {
    const last = this.lastTime;
    if (last !== null && time < last) return false;
    if (last === time) this.pop();
    this.time.push(time);
    for (const n of this.names) this.column(n).push(row[n] ?? null);
    // Trimmed in blocks: a splice per row would move the whole column each time.
    if (this.time.length > this.capacity + Math.max(16, this.capacity >> 3)) {
      const extra = this.time.length - this.capacity;
      this.time.splice(0, extra);
      for (const n of this.names) this.column(n).splice(0, extra);
    }
    return true;
  }

  clear(): void {
    this.time.length = 0;
    for (const n of this.names) this.column(n).length = 0;
  }

  indexAt(t: number): number {
    return indexAt(this, t);
  }

  /** Copies the time and the named columns from `from` (s) on, for a chart. */
  slice(from: number, names: readonly Name[]): [number[], ...Cell[][]] {
    const i = this.indexAt(from);
    return [this.time.slice(i), ...names.map((n) => this.column(n).slice(i))];
  }

  private pop(): void {
    this.time.pop();
    for (const n of this.names) this.column(n).pop();
  }
}
