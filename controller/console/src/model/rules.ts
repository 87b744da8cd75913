// SPDX-License-Identifier: Apache-2.0
// Order and scale of the rules side by side.

import { StickyMax } from '../charts/scale';
import type { Rule } from './types';

/** Shown for comparison only: it secures nothing the operator asked for. */
export function comparison(r: Rule): boolean {
  return r.goals.length === 0;
}

/** Those that count first, then comparisons, then those set aside; in each part the smaller buffer first. */
export function ordered(rules: readonly Rule[]): Rule[] {
  const rank = (r: Rule): number => (r.applies ? (comparison(r) ? 1 : 0) : r.bufferBytes !== null ? 2 : 3);
  return [...rules].sort((a, b) => rank(a) - rank(b) || (a.bufferBytes ?? 0) - (b.bufferBytes ?? 0) || a.id.localeCompare(b.id));
}

/**
 * The end of the common scale: it covers the marks and the rules that apply;
 * a rule that does not apply may run beyond it (and is shown cut off).
 */
export function scaleEnd(rules: readonly Rule[], marks: readonly (number | null)[]): number {
  const need = [...rules.filter((r) => r.applies && !comparison(r)).map((r) => r.bufferBytes), ...marks].filter((v): v is number => v !== null);
  const all = rules.map((r) => r.bufferBytes).filter((v): v is number => v !== null);
  const top = Math.max(0, ...need);
  // Others are covered too while that does not squeeze the ones that count.
  const others = Math.max(0, ...all.filter((v) => v <= 3 * top));
  return new StickyMax(1000).update(Math.max(top, others) * 1.05);
}

/** Why a rule is set aside, in one sentence; empty when it applies. */
export function whyNot(r: Rule): string {
  if (r.applies) return comparison(r) ? 'For comparison only.' : '';
  const failing = r.assumptions.filter((a) => a.holds === false).map((a) => a.text);
  if (failing.length > 0) return `Does not hold: ${failing.join('; ')}`;
  return r.missing || 'Does not apply.';
}
