// SPDX-License-Identifier: Apache-2.0
// Order and scale of the rules next to one another.

import { StickyMax } from '../charts/scale';
import type { Rule } from './types';

/** Whether a rule is shown for comparison only: it secures nothing that the operator asked for. */
export function comparison(r: Rule): boolean {
  return r.goals.length === 0;
}

/**
 * How a rule stands on this traffic: `holds`, with all of its assumptions; `unknown`, if nothing
 * known speaks against it, but not all is known; `compared`; `fails`.
 */
export type Standing = 'holds' | 'unknown' | 'compared' | 'fails';

export function standing(r: Rule): Standing {
  if (!r.applies) return 'fails';
  if (comparison(r)) return 'compared';
  return r.assumptions.some((a) => a.holds === null) ? 'unknown' : 'holds';
}

/** Sorts rules that count first, then comparisons, then those set aside; smaller buffers first. */
export function ordered(rules: readonly Rule[]): Rule[] {
  const rank = (r: Rule): number => (r.applies ? (comparison(r) ? 1 : 0) : r.bufferBytes !== null ? 2 : 3);
  return [...rules].sort((a, b) => rank(a) - rank(b) || (a.bufferBytes ?? 0) - (b.bufferBytes ?? 0) || a.id.localeCompare(b.id));
}

/**
 * Returns the end of the common scale: it covers the marks and the rules that apply; a rule that
 * does not apply may extend beyond it (and is shown cut off).
 */
export function scaleEnd(rules: readonly Rule[], marks: readonly (number | null)[]): number {
  const need = [...rules.filter((r) => r.applies && !comparison(r)).map((r) => r.bufferBytes), ...marks].filter((v): v is number => v !== null);
  const all = rules.map((r) => r.bufferBytes).filter((v): v is number => v !== null);
  const top = Math.max(0, ...need);
  // Other rules are covered too, unless that squeezes the ones that count.
  const others = Math.max(0, ...all.filter((v) => v <= 3 * top));
  return new StickyMax(1000).update(Math.max(top, others) * 1.05);
}

/** Returns the reason against a rule, or its unknown assumptions; empty if it holds. */
export function whyNot(r: Rule): string {
  const told = (words: string, holds: boolean | null): string => {
    const texts = r.assumptions.filter((a) => a.holds === holds).map((a) => a.text);
    return texts.length > 0 ? `${words}: ${texts.join('; ')}` : '';
  };
  switch (standing(r)) {
    case 'holds':
      return '';
    case 'unknown':
      return told('Not known', null);
    case 'compared':
      return 'For comparison only.';
    case 'fails':
      return told('Does not hold', false) || r.missing || 'Does not apply.';
  }
}
