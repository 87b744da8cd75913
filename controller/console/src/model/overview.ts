// SPDX-License-Identifier: Apache-2.0
// Every port in brief: which of them miss a target, and by how much.

import { linkTitle } from './links';
import type { Brief, Link } from './types';

export type GoalName = 'utilisation' | 'loss' | 'delay';

export function briefOf(l: Link): Brief {
  return { ...l, advisedBytes: l.advice?.advisedBytes ?? null, nB: l.estimate?.values.nB?.value ?? null };
}

/** Of a target that is missed, by which factor; only of what the last second says. */
export function missed(b: Brief): Partial<Record<GoalName, number>> {
  const found: Partial<Record<GoalName, number>> = {};
  if (b.stale) return found;
  const { recent: r, targets: t } = b;
  // What a link with no flow bottlenecked at it leaves unused misses nothing.
  const full = b.nB === null || b.nB >= 1;
  if (full && t.utilisation !== null && r.utilisation !== null && r.utilisation < t.utilisation) {
    found.utilisation = (1 - r.utilisation) / Math.max(1 - t.utilisation, 0.001);
  }
  if (t.lossRate !== null && r.lossRate !== null && r.lossRate > t.lossRate) found.loss = r.lossRate / t.lossRate;
  if (t.delayMs !== null && r.delayMs.max !== null && r.delayMs.max > t.delayMs) found.delay = r.delayMs.max / t.delayMs;
  return found;
}

function rank(b: Brief): number {
  const worst = Math.max(0, ...Object.values(missed(b)));
  return worst > 0 ? 2 + worst : b.stale ? 0 : 1;
}

/** Those that miss a target first, by how much; silent ones last. */
export function sortOverview(all: readonly Brief[]): Brief[] {
  return [...all].sort((a, b) => rank(b) - rank(a) || a.node - b.node || a.port - b.port);
}

export function matches(b: Brief, words: string): boolean {
  const title = `${linkTitle(b)} ${b.node}:${b.port}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((w) => title.includes(w));
}
