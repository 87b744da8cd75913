// SPDX-License-Identifier: Apache-2.0
// The queue of every port over the last minutes: from the controller's updates every second, and
// before that from its memory.

import { limitBytes, linkKey } from './links';
import type { Brief, SeriesColumns } from './types';

/** Milliseconds between two points, and number of points kept: three minutes. */
const STEP_MS = 2000;
export const KEPT = 90;
export const SPAN_S = (KEPT * STEP_MS) / 1000;

/** Median occupancy over the limit in each step, oldest first; null if nothing arrived. */
export type Trail = readonly (number | null)[];

export class Trails {
  private readonly trails = new Map<string, (number | null)[]>();
  private readonly recalled = new Set<string>();
  private last = -Infinity;

  /** Adds a point for every port, once per step. */
  add(all: readonly Brief[], nowMs: number): void {
    if (nowMs - this.last < STEP_MS * 0.9) return;
    // No points for the time when nothing arrived at all.
    const skipped = this.last === -Infinity ? 0 : Math.min(KEPT, Math.round((nowMs - this.last) / STEP_MS) - 1);
    this.last = nowMs;
    const here = new Set<string>();
    for (const b of all) {
      const key = linkKey(b);
      here.add(key);
      const trail = this.trails.get(key) ?? [];
      this.trails.set(key, trail);
      for (let i = 0; i < skipped && trail.length > 0; i += 1) trail.push(null);
      trail.push(filling(b));
      trail.splice(0, trail.length - KEPT);
    }
    for (const key of this.trails.keys()) {
      if (here.has(key)) continue;
      this.trails.delete(key);
      this.recalled.delete(key);
    }
  }

  /** Whether the earlier points have yet to be asked for. */
  asks(key: string): boolean {
    return this.trails.has(key) && !this.recalled.has(key);
  }

  /** Adds earlier points. If the controller remembers little, its steps are shorter: each point takes the last one. */
  recall(key: string, before: SeriesColumns): void {
    const trail = this.trails.get(key);
    this.recalled.add(key);
    const every = Math.round(STEP_MS / (1000 * before.stepSeconds));
    if (!trail || !(every >= 1)) return;
    const last = before.time.length - 1;
    const all = before.time.map((_, i) => part(before.occP50[i] ?? null, before.limit[i] ?? null));
    const older = all.filter((_, i) => (last - i) % every === 0);
    // The newest of them are already there.
    trail.unshift(...older.slice(0, Math.max(0, older.length - trail.length)));
    trail.splice(0, trail.length - KEPT);
  }

  of(key: string): Trail {
    return this.trails.get(key) ?? [];
  }
}

function filling(b: Brief): number | null {
  return b.stale ? null : part(b.recent.occupancyBytes.p50, limitBytes(b));
}

function part(occupancy: number | null, limit: number | null): number | null {
  return occupancy === null || !limit ? null : occupancy / limit;
}

/** Returns a trail as the path of a line in a box, the newest at its right; null interrupts it. */
export function trailPath(trail: Trail, width: number, height: number): string {
  const first = KEPT - trail.length;
  let d = '';
  trail.forEach((v, i) => {
    if (v === null) return;
    const x = ((first + i) * width) / (KEPT - 1);
    const y = height * (1 - Math.min(1, v));
    const before = trail[i - 1];
    d += `${before === null || before === undefined ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  return d;
}
