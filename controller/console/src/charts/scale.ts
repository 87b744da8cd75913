// SPDX-License-Identifier: Apache-2.0
// Axis arithmetic: round steps, ticks, and ranges that do not jitter.

/** Returns the smallest of 1, 2, 2.5, 5 × 10^k that is at least `raw`. */
export function niceStep(raw: number): number {
  if (!(raw > 0) || !Number.isFinite(raw)) return 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  for (const m of [1, 2, 2.5, 5, 10]) if (m * power >= raw * (1 - 1e-9)) return m * power;
  return 10 * power;
}

/** Returns about `wanted` round ticks from `min` to `max`. */
export function ticks(min: number, max: number, wanted: number): number[] {
  if (!(max > min)) return [min];
  const step = niceStep((max - min) / Math.max(1, wanted));
  const out: number[] = [];
  const first = Math.ceil(min / step - 1e-9);
  const last = Math.floor(max / step + 1e-9);
  for (let i = first; i <= last; i += 1) out.push(i * step + 0); // + 0: no negative zero
  return out;
}

/** Returns the largest of all values; 0 if there is none. */
export function largest(...columns: Iterable<number | null | undefined>[]): number {
  let m = 0;
  for (const c of columns) for (const v of c) if (v != null && v > m) m = v;
  return m;
}

/** Share of the values that always fit, and how many times further an axis may reach. */
const USUAL_SHARE = 0.9;
const USUAL_TIMES = 3;

/**
 * Returns the largest of all values, unless it is far above nearly all of them: the peak of a slow
 * start would flatten everything after it.
 */
export function usual(values: readonly number[]): number {
  const most = largest(values);
  const sorted = [...values].sort((a, b) => a - b);
  const typical = sorted[Math.ceil(sorted.length * USUAL_SHARE) - 1] ?? most;
  return typical > 0 && most > USUAL_TIMES * typical ? USUAL_TIMES * typical : most;
}

/** Returns the decimals needed to tell multiples of `step` apart. */
export function decimalsFor(step: number): number {
  if (!(step > 0)) return 0;
  for (let d = 0; d < 9; d += 1) {
    const scaled = step * 10 ** d;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * Math.max(1, scaled)) return d;
  }
  return 9;
}

/**
 * An upper bound of an axis that grows at once, and shrinks only when the data has stayed well
 * below it for some updates.
 */
export class StickyMax {
  private current = 0;
  private small = 0;

  constructor(
    private readonly floor: number,
    private readonly patience = 8,
  ) {}

  get value(): number {
    return this.current || this.floor;
  }

  update(needed: number): number {
    const want = this.rounded(Math.max(needed, this.floor));
    if (want >= this.current) {
      this.current = want;
      this.small = 0;
    } else if (want <= this.current * 0.7) {
      this.small += 1;
      if (this.small >= this.patience) {
        this.current = want;
        this.small = 0;
      }
    } else {
      this.small = 0;
    }
    return this.current;
  }

  reset(): void {
    this.current = 0;
    this.small = 0;
  }

  private rounded(v: number): number {
    const step = niceStep(v / 8);
    return Math.ceil(v / step - 1e-9) * step;
  }
}
