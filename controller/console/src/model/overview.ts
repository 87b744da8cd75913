// SPDX-License-Identifier: Apache-2.0
// Every port in brief: which ports need attention, and how much.

import { limitBytes, linkKey, linkTitle } from './links';
import type { Brief, Link } from './types';

export type GoalName = 'utilisation' | 'loss' | 'delay';

export function briefOf(l: Link): Brief {
  return { ...l, answer: l.verdict?.answer ?? '', advisedBytes: l.advice?.advisedBytes ?? null, nB: l.estimate?.values.nB?.value ?? null };
}

/** Returns for each missed target the factor by which it is missed, in the last second only. */
export function missed(b: Brief): Partial<Record<GoalName, number>> {
  const found: Partial<Record<GoalName, number>> = {};
  if (b.stale) return found;
  const { recent: r, targets: t } = b;
  // If no flow is bottlenecked at a link, unused capacity does not miss the target.
  const full = b.nB === null || b.nB >= 1;
  if (full && t.utilisation !== null && r.utilisation !== null && r.utilisation < t.utilisation) {
    found.utilisation = (1 - r.utilisation) / Math.max(1 - t.utilisation, 0.001);
  }
  if (t.lossRate !== null && r.lossRate !== null && r.lossRate > t.lossRate) found.loss = r.lossRate / t.lossRate;
  if (t.delayMs !== null && r.delayMs.max !== null && r.delayMs.max > t.delayMs) found.delay = r.delayMs.max / t.delayMs;
  return found;
}

/** Returns the limit in force over the advised one; null if either is unknown. */
export function overAdvised(b: Brief): number | null {
  const limit = limitBytes(b);
  return limit === null || !b.advisedBytes ? null : limit / b.advisedBytes;
}

/** Groups of ports, most urgent first. */
export const GROUPS = ['missed', 'too_big', 'cannot_say', 'fine'] as const;
export type Group = (typeof GROUPS)[number];

/** Returns a port's group: misses a target or is too small; too big; not judged; or fine. */
export function group(b: Brief): Group {
  if (b.stale) return 'cannot_say';
  if (b.answer === 'too_small' || Object.keys(missed(b)).length > 0) return 'missed';
  return b.answer === 'too_big' || b.answer === 'fine' ? b.answer : 'cannot_say';
}

/** Returns the urgency within a group, in steps, so that rows do not move every second. */
function urgency(b: Brief): number {
  const ratio = overAdvised(b) ?? 1;
  const of: Record<Group, () => number> = {
    missed: () => Math.max(1, ...Object.values(missed(b)), b.answer === 'too_small' ? 1 / ratio : 0),
    too_big: () => ratio,
    cannot_say: () => (b.stale ? 0 : 1),
    fine: () => 0,
  };
  const much = of[group(b)]();
  return much > 0 ? Math.round(Math.log(much) / Math.log(1.25)) : -1;
}

/** Sorts: ports that miss a target or are too small, then too big, then not judged; each by how much. */
export function sortOverview(all: readonly Brief[]): Brief[] {
  const ranked = all.map((b) => ({ b, group: GROUPS.indexOf(group(b)), urgency: urgency(b) }));
  ranked.sort((x, y) => x.group - y.group || y.urgency - x.urgency || x.b.node - y.b.node || (x.b.port ?? Infinity) - (y.b.port ?? Infinity) || x.b.queue - y.b.queue);
  return ranked.map((r) => r.b);
}

export function matches(b: Brief, words: string): boolean {
  const title = `${linkTitle(b)} ${linkKey(b)}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((w) => title.includes(w));
}
