// SPDX-License-Identifier: Apache-2.0
// The queue of every port over the last minutes, from what the controller sends
// of each every second.

import { limitBytes, linkKey } from './links';
import type { Brief } from './types';

/** Seconds between two points, and points kept: three minutes. */
const STEP_MS = 2000;
const KEPT = 90;

/** Median occupancy over the limit of each step, oldest first; null where nothing came. */
export type Trail = readonly (number | null)[];

export class Trails {
  private readonly trails = new Map<string, (number | null)[]>();
  private last = -Infinity;

  /** Takes every port of this moment, once per step. */
  add(all: readonly Brief[], nowMs: number): void {
    if (nowMs - this.last < STEP_MS * 0.9) return;
    // While nothing came at all there are no points either.
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
    for (const key of this.trails.keys()) if (!here.has(key)) this.trails.delete(key);
  }

  of(key: string): Trail {
    return this.trails.get(key) ?? [];
  }
}

function filling(b: Brief): number | null {
  const limit = limitBytes(b);
  const occupancy = b.recent.occupancyBytes.p50;
  return b.stale || occupancy === null || !limit ? null : occupancy / limit;
}

/** A trail as the path of a line in a box, newest at its right end; open where nothing is known. */
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
